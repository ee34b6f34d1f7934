"""A convolutional VAE whose encoder and decoder give distributions: rsample, log_prob, kl_divergence, autocast."""

import numpy as np
import torch
from torch import nn
from torch.distributions import Bernoulli, Categorical, Independent, MultivariateNormal, Normal, Uniform, kl_divergence
from torch.distributions.normal import Normal as AlsoNormal
from torch.utils.data import DataLoader, TensorDataset

try:
    from torch.utils.tensorboard import SummaryWriter
except ImportError:
    SummaryWriter = None

rng = np.random.default_rng(0)
torch.set_default_dtype(torch.float64)
assert AlsoNormal is Normal


class Encoder(nn.Module):
    def __init__(self, latent):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(1, 4, 3, stride=2, padding=1), nn.SiLU(), nn.Flatten(), nn.Linear(64, 16))
        self.head = nn.Linear(16, 2 * latent)
        self.softplus = nn.Softplus()

    def forward(self, x, eps=1e-8):
        mu, logvar = torch.chunk(self.head(self.net(x)), 2, dim=-1)
        return Independent(Normal(mu, self.softplus(logvar) + eps), 1)


class Decoder(nn.Module):
    def __init__(self, latent):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(latent, 64),
            nn.Unflatten(1, (4, 4, 4)),
            nn.ConvTranspose2d(4, 1, 4, stride=2, padding=1),
        )

    def forward(self, z):
        return Independent(Bernoulli(logits=self.net(z)), 3)


class Model(nn.Module):
    def __init__(self, latent=3):
        super().__init__()
        self.encoder, self.decoder = Encoder(latent), Decoder(latent)
        self.register_buffer("zeros", torch.zeros(latent))
        self.prior = Independent(Normal(torch.zeros(latent), torch.ones(latent)), 1)

    def forward(self, x):
        posterior = self.encoder(x)
        eps = torch.from_numpy(rng.normal(size=tuple(posterior.mean.shape)))  # rsample, with numbers that repeat
        z = posterior.mean + eps * posterior.stddev
        likelihood = self.decoder(z).log_prob(x)
        return likelihood, kl_divergence(posterior, self.prior)


model = Model()
for p in model.parameters():
    nn.init.zeros_(p)
    p.data += torch.from_numpy(rng.normal(scale=0.2, size=tuple(p.shape)))
data = TensorDataset(torch.from_numpy((rng.random((24, 1, 8, 8)) > 0.5).astype(np.float64)))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=1e-2)
writer = SummaryWriter("runs/vae") if SummaryWriter is not None else None
results = []
for epoch in range(3):
    for step, (x,) in enumerate(DataLoader(data, batch_size=8)):
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", enabled=False):
            likelihood, kl = model(x)
            loss = -(likelihood - kl).mean()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        if writer is not None:
            writer.add_scalar("Loss/ELBO", -loss.item(), epoch * 3 + step)
    results += [loss.item(), kl.mean().item(), norm.item()]
if writer is not None:
    writer.close()

posterior = model.encoder(next(iter(DataLoader(data, batch_size=2)))[0])
assert posterior.has_rsample
assert posterior.rsample((5,)).shape == (5, 2, 3)
assert model.decoder(model.prior.sample((4,))).sample().shape == (4, 1, 8, 8)
policy = Categorical(logits=torch.tensor([[0.1, 0.2, 0.7], [1.0, 2.0, 3.0]]))
assert policy.sample().shape == (2,)
results += policy.entropy().tolist() + policy.log_prob(torch.tensor([2, 0])).tolist()
full = MultivariateNormal(torch.zeros(2), torch.tensor([[2.0, 0.5], [0.5, 1.0]]))
results.append(full.log_prob(torch.tensor([0.3, -0.2])).item())
results.append(Uniform(-1.0, 3.0).log_prob(torch.tensor(0.5)).item())
lines = [repr(posterior), repr(model.prior), str(posterior.batch_shape), str(posterior.event_shape)]
