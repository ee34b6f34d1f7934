"""Efficient sub-pixel super-resolution: PixelShuffle, orthogonal weights, PSNR, checkpoints of whole modules."""

import argparse
from math import log10

import numpy as np
import torch
import torch.nn as nn
import torch.nn.init as init
import torch.optim as optim
from torch.utils.data import DataLoader, Dataset
from torchvision.transforms import CenterCrop, Compose, Normalize, Resize, ToTensor

parser = argparse.ArgumentParser(description="PyTorch Super Res Example")
parser.add_argument("--upscale_factor", type=int, default=2, help="super resolution upscale factor")
parser.add_argument("--batchSize", type=int, default=4, help="training batch size")
parser.add_argument("--nEpochs", type=int, default=2, help="number of epochs to train for")
parser.add_argument("--lr", type=float, default=0.01, help="Learning Rate. Default=0.01")
parser.add_argument("--cuda", action="store_true", help="use cuda?")
parser.add_argument("--threads", type=int, default=0, help="number of threads for data loader to use")
parser.add_argument("--seed", type=int, default=123, help="random seed to use. Default=123")
opt = parser.parse_args([])
if opt.cuda and not torch.cuda.is_available():
    raise Exception("No GPU found, please run without --cuda")
torch.manual_seed(opt.seed)
rng = np.random.default_rng(opt.seed)
device = torch.device("cuda" if opt.cuda else "cpu")


class Pictures(Dataset):
    """Smooth pictures; the input is the target at half the size."""

    def __init__(self, count, size=16):
        waves = rng.uniform(0.5, 2.0, (count, 2, 1, 1))
        y, x = np.mgrid[:size, :size] / size * 2 * np.pi
        pixels = 127.5 + 127.5 * np.sin(waves[:, 0] * x) * np.cos(waves[:, 1] * y)
        self.pictures = pixels.astype(np.float32)
        small = Resize(size // opt.upscale_factor)
        self.input_transform = Compose([CenterCrop(size), small, Normalize([127.5], [255])])
        self.target_transform = Compose([CenterCrop(size), Normalize([127.5], [255])])

    def __getitem__(self, index):
        image = ToTensor()(self.pictures[index])
        return self.input_transform(image), self.target_transform(image.clone())

    def __len__(self):
        return len(self.pictures)


class Net(nn.Module):
    def __init__(self, upscale_factor):
        super(Net, self).__init__()  # noqa: UP008
        self.relu = nn.ReLU()
        self.conv1 = nn.Conv2d(1, 8, (5, 5), (1, 1), (2, 2))
        self.conv2 = nn.Conv2d(8, 8, (3, 3), (1, 1), (1, 1), padding_mode="reflect")
        self.conv3 = nn.Conv2d(8, upscale_factor**2, (3, 3), (1, 1), (1, 1))
        self.pixel_shuffle = nn.PixelShuffle(upscale_factor)
        self._initialize_weights()

    def forward(self, x):
        x = self.relu(self.conv1(x))
        x = self.relu(self.conv2(x))
        return self.pixel_shuffle(self.conv3(x))

    def _initialize_weights(self):
        init.orthogonal_(self.conv1.weight, init.calculate_gain("relu"))
        init.orthogonal_(self.conv2.weight, init.calculate_gain("relu"))
        init.orthogonal_(self.conv3.weight)


train_set, test_set = Pictures(12), Pictures(4)
training_data_loader = DataLoader(train_set, num_workers=opt.threads, batch_size=opt.batchSize, shuffle=False)
testing_data_loader = DataLoader(test_set, num_workers=opt.threads, batch_size=2, shuffle=False)
model = Net(upscale_factor=opt.upscale_factor).to(device)
gram = model.conv1.weight.detach().view(8, -1)
results = [(gram @ gram.t() - 2 * torch.eye(8)).abs().max().item() < 1e-5]  # orthogonal, times the gain squared
for p in model.parameters():
    p.data.copy_(torch.from_numpy(rng.normal(scale=0.1, size=tuple(p.shape))))
criterion = nn.MSELoss()
optimizer = optim.Adam(model.parameters(), lr=opt.lr)
lines = []
for epoch in range(1, opt.nEpochs + 1):
    epoch_loss = 0
    for _iteration, batch in enumerate(training_data_loader, 1):
        input, target = batch[0].to(device), batch[1].to(device)
        optimizer.zero_grad()
        loss = criterion(model(input), target)
        epoch_loss += loss.item()
        loss.backward()
        optimizer.step()
    avg_psnr = 0
    with torch.no_grad():
        for batch in testing_data_loader:
            mse = criterion(model(batch[0].to(device)), batch[1].to(device))
            avg_psnr += 10 * log10(1 / mse.item())
    results += [epoch_loss / len(training_data_loader), avg_psnr / len(testing_data_loader)]
    model_out_path = f"model_epoch_{epoch}.pth"
    torch.save(model, model_out_path)
    lines.append(f"Checkpoint saved to {model_out_path}")
again = torch.load(model_out_path, weights_only=False)
results.append((again(input) - model(input)).abs().max().item())
upsampled = nn.functional.interpolate(input, scale_factor=2, mode="bicubic", align_corners=False)
results += [upsampled.mean().item(), upsampled.std().item()]
