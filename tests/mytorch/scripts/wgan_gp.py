"""WGAN with gradient penalty: autograd.grad with create_graph=True inside the critic's loss."""

import numpy as np
import torch
import torch.autograd as autograd
import torch.nn as nn
from torch.autograd import Variable

np.random.seed(0)
lambda_gp, n_critic, latent_dim, img_shape = 10, 2, 5, (1, 8, 8)
cuda = torch.cuda.is_available()
Tensor = torch.cuda.DoubleTensor if cuda else torch.DoubleTensor


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(
            nn.Linear(latent_dim, 16),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Linear(16, 32),
            nn.BatchNorm1d(32, 0.8),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Linear(32, int(np.prod(img_shape))),
            nn.Tanh(),
        )

    def forward(self, z):
        img = self.model(z)
        return img.view(img.shape[0], *img_shape)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 3, 3, stride=2, padding=1)
        self.model = nn.Sequential(nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(48, 8), nn.Tanh(), nn.Linear(8, 1))

    def forward(self, img):
        return self.model(self.conv(img))


generator, discriminator = Generator().double(), Discriminator().double()
for network in (generator, discriminator):
    for p in network.parameters():
        p.data = torch.from_numpy(np.random.normal(0, 0.2, tuple(p.shape)))
optimizer_G = torch.optim.Adam(generator.parameters(), lr=0.002, betas=(0.5, 0.9))
optimizer_D = torch.optim.Adam(discriminator.parameters(), lr=0.002, betas=(0.5, 0.9))


def compute_gradient_penalty(D, real_samples, fake_samples):
    alpha = Tensor(np.random.random((real_samples.size(0), 1, 1, 1)))
    interpolates = (alpha * real_samples + ((1 - alpha) * fake_samples)).requires_grad_(True)
    d_interpolates = D(interpolates)
    fake = Variable(Tensor(real_samples.shape[0], 1).fill_(1.0), requires_grad=False)
    gradients = autograd.grad(
        outputs=d_interpolates,
        inputs=interpolates,
        grad_outputs=fake,
        create_graph=True,
        retain_graph=True,
        only_inputs=True,
    )[0]
    gradients = gradients.view(gradients.size(0), -1)
    return ((gradients.norm(2, dim=1) - 1) ** 2).mean()


results = []
for i in range(6):
    real_imgs = torch.from_numpy(np.random.uniform(-1, 1, (7, *img_shape)))
    optimizer_D.zero_grad()
    z = Variable(Tensor(np.random.normal(0, 1, (real_imgs.shape[0], latent_dim))))
    fake_imgs = generator(z)
    gradient_penalty = compute_gradient_penalty(discriminator, real_imgs.data, fake_imgs.data)
    d_loss = -torch.mean(discriminator(real_imgs)) + torch.mean(discriminator(fake_imgs)) + lambda_gp * gradient_penalty
    d_loss.backward()
    optimizer_D.step()
    results += [d_loss.item(), gradient_penalty.item()]
    optimizer_G.zero_grad()
    if i % n_critic == 0:
        fake_imgs = generator(z)
        g_loss = -torch.mean(discriminator(fake_imgs))
        g_loss.backward()
        optimizer_G.step()
        results.append(g_loss.item())
