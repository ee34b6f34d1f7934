"""A classifier as the quickstart has it: own Dataset, one-hot by scatter_, train and test loops, save and load."""

import os
import tempfile

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, Subset, random_split

rng = np.random.default_rng(0)
device = torch.accelerator.current_accelerator().type if torch.accelerator.is_available() else "cpu"


class Blobs(Dataset):
    def __init__(self, count, transform=None, target_transform=None):
        self.labels = [int(label) for label in rng.integers(0, 3, count)]
        self.images = (rng.normal(size=(count, 6, 6)) + np.reshape(self.labels, (-1, 1, 1))).astype(np.float32)
        self.transform = transform
        self.target_transform = target_transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, idx):
        image, label = self.images[idx], self.labels[idx]
        if self.transform:
            image = self.transform(image)
        if self.target_transform:
            label = self.target_transform(label)
        return image, label


def one_hot(y):
    return torch.zeros(3, dtype=torch.float).scatter_(dim=0, index=torch.tensor(y), value=1)


class NeuralNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.flatten = nn.Flatten()
        self.linear_relu_stack = nn.Sequential(nn.Linear(36, 12), nn.ReLU(), nn.Linear(12, 3))

    def forward(self, x):
        x = self.flatten(x)
        logits = self.linear_relu_stack(x)
        return logits


data = Blobs(90, transform=lambda image: torch.from_numpy(image).unsqueeze(0), target_transform=one_hot)
sizes = [len(part) for part in random_split(data, [0.8, 0.2], generator=torch.Generator().manual_seed(42))]
train_dataloader = DataLoader(Subset(data, range(72)), batch_size=16)
test_dataloader = DataLoader(Subset(data, range(72, 90)), batch_size=16)
model = NeuralNetwork().to(device)
for param in model.parameters():
    param.data.copy_(torch.from_numpy(rng.normal(scale=0.1, size=tuple(param.size()))))
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-1)


def train(dataloader, model, loss_fn, optimizer):
    size = len(dataloader.dataset)
    model.train()
    for batch, (X, y) in enumerate(dataloader):
        X, y = X.to(device), y.to(device)
        pred = model(X)
        loss = loss_fn(pred, y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if batch % 2 == 0:
            loss, current = loss.item(), (batch + 1) * len(X)
            lines.append(f"loss: {loss:>7.4f}  [{current:>5d}/{size:>5d}]")


def test(dataloader, model, loss_fn):
    size = len(dataloader.dataset)
    num_batches = len(dataloader)
    model.eval()
    test_loss, correct = 0, 0
    with torch.no_grad():
        for X, y in dataloader:
            X, y = X.to(device), y.to(device)
            pred = model(X)
            test_loss += loss_fn(pred, y).item()
            correct += (pred.argmax(1) == y.argmax(1)).type(torch.float).sum().item()
    return correct / size, test_loss / num_batches


lines = [repr(model), f"{data[0][1]} {train_dataloader.dataset[0][0].shape} {loss_fn}"]
results = [*sizes]
for _ in range(3):
    train(train_dataloader, model, loss_fn, optimizer)
    results += test(test_dataloader, model, loss_fn)
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "model.pth")
    torch.save(model.state_dict(), path)
    model = NeuralNetwork()
    lines.append(str(model.load_state_dict(torch.load(path, weights_only=True))))
results += test(test_dataloader, model, loss_fn)
with torch.no_grad():
    probabilities = nn.Softmax(dim=1)(model(data[0][0]))
    lines.append(f"{probabilities[0].argmax(0)} {probabilities.max():.3f} {probabilities.shape}")
