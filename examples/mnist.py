"""A first PyTorch script: a small convolutional net learns MNIST in plain torch, from start to end.

    python examples/mnist.py                      # on PyTorch
    python -m mytorch examples/mnist.py           # the very same file on NumPy alone

Both expect the MNIST files under --data (default: data), as data/MNIST/raw/train-images-idx3-ubyte and so on.
PyTorch with torchvision fetches them there by itself.
"""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader
from torchvision import datasets, transforms


class Net(nn.Module):
    """Two convolutions, pooling, two linear layers; dropout before each of the linear ones."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 3)
        self.conv2 = nn.Conv2d(32, 64, 3)
        self.drop1 = nn.Dropout(0.25)
        self.drop2 = nn.Dropout(0.5)
        self.fc1 = nn.Linear(64 * 12 * 12, 128)
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))  # (N, 32, 26, 26)
        x = F.relu(self.conv2(x))  # (N, 64, 24, 24)
        x = self.drop1(F.max_pool2d(x, 2))
        x = F.relu(self.fc1(torch.flatten(x, 1)))
        return F.log_softmax(self.fc2(self.drop2(x)), dim=1)


def train(args, model, device, loader, optimizer, epoch):
    model.train()
    for step, (images, labels) in enumerate(loader):
        images, labels = images.to(device), labels.to(device)
        optimizer.zero_grad()
        loss = F.nll_loss(model(images), labels)
        loss.backward()
        optimizer.step()
        if step % args.log_interval == 0:
            done = step * args.batch_size
            print(f"epoch {epoch} [{done}/{len(loader.dataset)}] loss {loss.item():.4f}", flush=True)
        if args.dry_run:
            break


def test(model, device, loader):
    model.eval()
    loss, correct = 0.0, 0
    with torch.no_grad():
        for images, labels in loader:
            images, labels = images.to(device), labels.to(device)
            output = model(images)
            loss += F.nll_loss(output, labels, reduction="sum").item()
            correct += output.argmax(dim=1).eq(labels).sum().item()
    count = len(loader.dataset)
    print(f"test: loss {loss / count:.4f}, accuracy {correct}/{count} ({100 * correct / count:.2f}%)", flush=True)


def arguments():
    parser = argparse.ArgumentParser(description="A convolutional net on MNIST")
    parser.add_argument("--batch-size", type=int, default=64, help="images in a training batch")
    parser.add_argument("--test-batch-size", type=int, default=1000, help="images in a test batch")
    parser.add_argument("--epochs", type=int, default=14)
    parser.add_argument("--lr", type=float, default=1.0, help="first learning rate")
    parser.add_argument("--gamma", type=float, default=0.7, help="factor of the learning rate after each epoch")
    parser.add_argument("--no-accel", action="store_true", help="stay on the CPU even if there is a GPU")
    parser.add_argument("--dry-run", action="store_true", help="one batch an epoch, to see that it runs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log-interval", type=int, default=100, help="batches between two lines")
    parser.add_argument("--save-model", metavar="FILE", help="where to save the trained weights")
    parser.add_argument("--data", default="data", help="the folder that holds MNIST/raw")
    return parser.parse_args()


def main():
    args = arguments()
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() and not args.no_accel else "cpu")
    transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])
    train_set = datasets.MNIST(args.data, train=True, download=True, transform=transform)
    test_set = datasets.MNIST(args.data, train=False, download=True, transform=transform)
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True)
    test_loader = DataLoader(test_set, batch_size=args.test_batch_size)

    model = Net().to(device)
    optimizer = optim.Adadelta(model.parameters(), lr=args.lr)
    scheduler = StepLR(optimizer, step_size=1, gamma=args.gamma)
    for epoch in range(1, args.epochs + 1):
        train(args, model, device, train_loader, optimizer, epoch)
        test(model, device, test_loader)
        scheduler.step()
    if args.save_model:
        torch.save(model.state_dict(), args.save_model)


if __name__ == "__main__":
    main()
