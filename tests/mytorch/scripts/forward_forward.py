"""Hinton's forward-forward algorithm on MNIST: every layer has its own optimiser and learns from its own goodness."""

import numpy as np
import torch
import torch.nn as nn
from torch.optim import Adam
from torch.utils.data import DataLoader
from torchvision.datasets import MNIST
from torchvision.transforms import Compose, Lambda, Normalize, ToTensor

torch.manual_seed(1234)
rng = np.random.default_rng(0)


def MNIST_loaders(train_batch_size=16, test_batch_size=10):
    transform = Compose([ToTensor(), Normalize((0.1307,), (0.3081,)), Lambda(lambda x: torch.flatten(x))])
    train_loader = DataLoader(
        MNIST("./data/", train=True, download=True, transform=transform), batch_size=train_batch_size, shuffle=False
    )
    test_loader = DataLoader(
        MNIST("./data/", train=False, download=True, transform=transform), batch_size=test_batch_size, shuffle=False
    )
    return train_loader, test_loader


def overlay_y_on_x(x, y):
    x_ = x.clone()
    x_[:, :10] *= 0.0
    x_[range(x.shape[0]), y] = x.max()
    return x_


class Net(torch.nn.Module):
    def __init__(self, dims):
        super().__init__()
        self.layers = []
        for d in range(len(dims) - 1):
            self.layers += [Layer(dims[d], dims[d + 1])]

    def predict(self, x):
        goodness_per_label = []
        for label in range(10):
            h = overlay_y_on_x(x, label)
            goodness = []
            for layer in self.layers:
                h = layer(h)
                goodness += [h.pow(2).mean(1)]
            goodness_per_label += [sum(goodness).unsqueeze(1)]
        goodness_per_label = torch.cat(goodness_per_label, 1)
        return goodness_per_label.argmax(1), goodness_per_label

    def train(self, x_pos, x_neg):
        h_pos, h_neg = x_pos, x_neg
        for layer in self.layers:
            h_pos, h_neg = layer.train(h_pos, h_neg)


class Layer(nn.Linear):
    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None):
        super().__init__(in_features, out_features, bias, device, dtype)
        self.relu = torch.nn.ReLU()
        self.opt = Adam(self.parameters(), lr=0.03)
        self.threshold = 2.0
        self.num_epochs = 6
        self.weight.data = torch.from_numpy(rng.normal(0, 0.1, tuple(self.weight.shape))).float()
        self.bias.data.zero_()

    def forward(self, x):
        x_direction = x / (x.norm(2, 1, keepdim=True) + 1e-4)
        return self.relu(torch.mm(x_direction, self.weight.T) + self.bias.unsqueeze(0))

    def train(self, x_pos, x_neg):
        for _ in range(self.num_epochs):
            g_pos = self.forward(x_pos).pow(2).mean(1)
            g_neg = self.forward(x_neg).pow(2).mean(1)
            loss = torch.log(1 + torch.exp(torch.cat([-g_pos + self.threshold, g_neg - self.threshold]))).mean()
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
        results.append(loss.item())
        return self.forward(x_pos).detach(), self.forward(x_neg).detach()


results = []
train_loader, test_loader = MNIST_loaders()
net = Net([784, 20, 20])
x, y = next(iter(train_loader))
if torch.cuda.is_available():
    x, y = x.cuda(), y.cuda()
x_pos = overlay_y_on_x(x, y)
x_neg = overlay_y_on_x(x, y[torch.from_numpy(rng.permutation(x.size(0)))])
net.train(x_pos, x_neg)
prediction, goodness = net.predict(x)
results.append(1.0 - prediction.eq(y).float().mean().item())
results += goodness.mean(0).tolist()
x_te, y_te = next(iter(test_loader))
results.append(net.predict(x_te)[1].std().item())
lines = [str(x_pos.shape), str(x_te.dtype), str(net.layers[0])]
