# ruff: noqa: B007  (a tutorial names its loop variables)
"""A variational autoencoder as in most tutorials: reparameterised, BCE plus KL, Adam."""

import numpy as np
import torch
from torch import nn, optim
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(0)


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(20, 16)
        self.fc21 = nn.Linear(16, 3)
        self.fc22 = nn.Linear(16, 3)
        self.fc3 = nn.Linear(3, 16)
        self.fc4 = nn.Linear(16, 20)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.as_tensor(rng.normal(size=tuple(std.shape)), dtype=std.dtype)
        return mu + eps * std

    def decode(self, z):
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z))))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, 20))
        z = self.reparameterize(mu, logvar)
        return self.decode(z), mu, logvar


def loss_function(recon_x, x, mu, logvar):
    BCE = F.binary_cross_entropy(recon_x, x.view(-1, 20), reduction="sum")
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return BCE + KLD


model = VAE().double()
for parameter in model.parameters():
    parameter.data = torch.from_numpy(rng.normal(scale=0.3, size=tuple(parameter.shape)))
data = torch.from_numpy(rng.uniform(size=(30, 4, 5)))
optimizer = optim.Adam(model.parameters(), lr=1e-2)
results = []
for epoch in range(3):
    model.train()
    train_loss = 0
    for batch_idx, (batch,) in enumerate(DataLoader(TensorDataset(data), batch_size=8)):
        optimizer.zero_grad()
        recon_batch, mu, logvar = model(batch)
        loss = loss_function(recon_batch, batch, mu, logvar)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        train_loss += loss.item()
        optimizer.step()
    results.append(train_loss / len(data))
with torch.no_grad():
    sample = model.decode(torch.zeros(2, 3, dtype=torch.float64)).cpu()
    results += sample.view(2, 1, 4, 5).mean(dim=(1, 2, 3)).tolist()
