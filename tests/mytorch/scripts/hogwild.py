"""Hogwild on MNIST as in the examples, with the workers called one after the other instead of in processes."""

from __future__ import print_function  # noqa: UP010

import argparse
import os

import numpy as np
import torch
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torchvision import datasets, transforms

parser = argparse.ArgumentParser(description="PyTorch MNIST Example")
parser.add_argument("--batch-size", type=int, default=8, metavar="N")
parser.add_argument("--epochs", type=int, default=1, metavar="N")
parser.add_argument("--lr", type=float, default=0.05, metavar="LR")
parser.add_argument("--momentum", type=float, default=0.5, metavar="M")
parser.add_argument("--seed", type=int, default=1, metavar="S")
parser.add_argument("--log-interval", type=int, default=1, metavar="N")
parser.add_argument("--num-processes", type=int, default=2, metavar="N")
parser.add_argument("--cuda", action="store_true", default=False)
results, lines = [], []


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()  # noqa: UP008
        self.conv1 = nn.Conv2d(1, 4, kernel_size=5)
        self.conv2 = nn.Conv2d(4, 6, kernel_size=5)
        self.conv2_drop = nn.Dropout2d(p=0.0)
        self.fc1 = nn.Linear(96, 20)
        self.fc2 = nn.Linear(20, 10)

    def forward(self, x):
        x = F.relu(F.max_pool2d(self.conv1(x), 2))
        x = F.relu(F.max_pool2d(self.conv2_drop(self.conv2(x)), 2))
        x = x.view(-1, 96)
        x = F.relu(self.fc1(x))
        x = F.dropout(x, p=0.0, training=self.training)
        x = self.fc2(x)
        return F.log_softmax(x, dim=1)


def train(rank, args, model, device, dataset, dataloader_kwargs):
    torch.manual_seed(args.seed + rank)
    train_loader = torch.utils.data.DataLoader(dataset, **dataloader_kwargs)
    optimizer = optim.SGD(model.parameters(), lr=args.lr, momentum=args.momentum)
    for epoch in range(1, args.epochs + 1):
        train_epoch(epoch, args, model, device, train_loader, optimizer)


def train_epoch(epoch, args, model, device, data_loader, optimizer):
    model.train()
    pid = os.getpid()
    assert pid > 0
    for batch_idx, (data, target) in enumerate(data_loader):
        optimizer.zero_grad()
        output = model(data.to(device))
        loss = F.nll_loss(output, target.to(device))
        loss.backward()
        optimizer.step()
        if batch_idx % args.log_interval == 0:
            done = 100.0 * batch_idx / len(data_loader)
            lines.append(f"Train Epoch: {epoch} [{batch_idx * len(data)}/{len(data_loader.dataset)} ({done:.0f}%)]")
            results.append(loss.item())


def test(args, model, device, dataset, dataloader_kwargs):
    test_loader = torch.utils.data.DataLoader(dataset, **dataloader_kwargs)
    model.eval()
    test_loss, correct = 0, 0
    with torch.no_grad():
        for data, target in test_loader:
            output = model(data.to(device))
            test_loss += F.nll_loss(output, target.to(device), reduction="sum").item()
            pred = output.max(1)[1]
            correct += pred.eq(target.to(device)).sum().item()
    results.extend([test_loss / len(test_loader.dataset), correct])


if __name__ in ("__main__", "<run_path>"):
    args = parser.parse_args([])
    use_cuda = args.cuda and torch.cuda.is_available()
    device = torch.device("cuda" if use_cuda else "cpu")
    transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])
    dataset1 = datasets.MNIST("data", train=True, download=True, transform=transform)
    dataset2 = datasets.MNIST("data", train=False, transform=transform)
    kwargs = {"batch_size": args.batch_size, "shuffle": False}
    if use_cuda:
        kwargs.update({"num_workers": 1, "pin_memory": True})
    torch.manual_seed(args.seed)
    mp.set_start_method("spawn", force=True)
    model = Net().to(device)
    rng = np.random.default_rng(0)
    for p in model.parameters():
        p.data = torch.from_numpy(rng.normal(0, 0.1, tuple(p.shape))).to(p.dtype)
    model.share_memory()  # gradients are allocated lazily, so they are not shared here
    for rank in range(args.num_processes):
        train(rank, args, model, device, dataset1, kwargs)
    test(args, model, device, dataset2, kwargs)
