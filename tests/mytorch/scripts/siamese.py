"""A siamese network with shared weights on MNIST: pairs, triplets, contrastive loss, a small torchvision trunk."""

import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torchvision
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, Dataset
from torchvision import datasets

random.seed(0)
rng = np.random.default_rng(0)


class SiameseNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.resnet = torchvision.models.resnet18(weights=None)
        self.resnet.conv1 = nn.Conv2d(1, 64, kernel_size=(7, 7), stride=(2, 2), padding=(3, 3), bias=False)
        self.fc_in_features = self.resnet.fc.in_features
        self.resnet = torch.nn.Sequential(*(list(self.resnet.children())[:4]))  # the stem is enough here
        self.fc = nn.Sequential(nn.Linear(64 * 2, 16), nn.PReLU(), nn.Linear(16, 1))
        self.sigmoid = nn.Sigmoid()
        self.fc.apply(self.init_weights)

    def init_weights(self, m):
        if isinstance(m, nn.Linear):
            torch.nn.init.xavier_uniform_(m.weight)
            m.bias.data.fill_(0.01)

    def forward_once(self, x):
        output = F.adaptive_avg_pool2d(self.resnet(x), 1)
        return output.view(output.size()[0], -1)

    def forward(self, input1, input2):
        output = torch.cat((self.forward_once(input1), self.forward_once(input2)), 1)
        return self.sigmoid(self.fc(output))


class APP_MATCHER(Dataset):
    def __init__(self, root, train, download=False):
        self.dataset = datasets.MNIST(root, train=train, download=download)
        self.data = self.dataset.data.unsqueeze(1).clone()
        self.group_examples()

    def group_examples(self):
        np_arr = np.array(self.dataset.targets.clone())
        self.grouped_examples = {i: np.where(np_arr == i)[0] for i in range(10)}

    def __len__(self):
        return 8

    def __getitem__(self, index):
        kind = index % 3
        first = self.grouped_examples[kind]
        same = index % 2 == 0
        other = first if same else self.grouped_examples[(kind + 1) % 10]
        image_1 = self.data[first[0]].float() / 255
        image_2 = self.data[other[-1]].float() / 255
        return image_1, image_2, torch.tensor(1 if same else 0, dtype=torch.float)


class ContrastiveLoss(torch.nn.Module):
    def __init__(self, margin=2.0):
        super().__init__()
        self.margin = margin

    def forward(self, output1, output2, label):
        distance = F.pairwise_distance(output1, output2, keepdim=True)
        return torch.mean(
            (1 - label) * torch.pow(distance, 2) + label * torch.pow(torch.clamp(self.margin - distance, min=0.0), 2)
        )


model = SiameseNetwork().to("cuda" if torch.cuda.is_available() else "cpu")
for p in model.parameters():
    p.data.copy_(torch.from_numpy(rng.normal(0, 0.1, tuple(p.shape))))
optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
scheduler = StepLR(optimizer, step_size=1, gamma=0.7)
criterion, contrastive, triplet = nn.BCELoss(), ContrastiveLoss(), nn.TripletMarginLoss(margin=1.0, p=2)
loader = DataLoader(APP_MATCHER("data", train=True), batch_size=4, shuffle=False)
results = []
for _epoch in range(2):
    model.train()
    for images_1, images_2, targets in loader:
        optimizer.zero_grad()
        outputs = model(images_1, images_2).squeeze()
        a, b = model.forward_once(images_1), model.forward_once(images_2)
        loss = criterion(outputs, targets) + 0.1 * contrastive(a, b, targets.view(-1, 1)) + triplet(a, a * 0.9, b)
        loss.backward()
        optimizer.step()
        results += [loss.item(), F.cosine_similarity(a, b).mean().item()]
    scheduler.step()
model.eval()
with torch.no_grad():
    images_1, images_2, targets = next(iter(loader))
    pred = torch.where(model(images_1, images_2).squeeze() > 0.5, 1, 0)
    results.append(pred.eq(targets.view_as(pred)).sum().item())
lines = [str(model.fc), str(scheduler.get_last_lr())]
