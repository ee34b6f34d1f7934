"""A character model with Embedding and LSTM, and a small causal transformer: masks, state kept between batches."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

rng = np.random.default_rng(0)
text = torch.tensor([ord(c) % 13 for c in "the quick brown fox jumps over the lazy dog " * 4])


class CharModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(13, 6)
        self.lstm = nn.LSTM(6, 8, num_layers=2, batch_first=True)
        self.fc = nn.Linear(8, 13)

    def forward(self, x, hidden=None):
        out, hidden = self.lstm(self.embed(x), hidden)
        return self.fc(out), hidden


class Causal(nn.Module):
    def __init__(self, length):
        super().__init__()
        self.embed = nn.Embedding(13, 8)
        self.position = nn.Parameter(torch.zeros(1, length, 8))
        layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, activation="gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.fc = nn.Linear(8, 13)
        mask = torch.triu(torch.full((length, length), float("-inf"), dtype=torch.float64), diagonal=1)
        self.register_buffer("mask", mask)

    def forward(self, x):
        x = self.embed(x) + self.position[:, : x.size(1)]
        return self.fc(self.encoder(x, mask=self.mask))


def fill(model):
    for parameter in model.parameters():
        parameter.data = torch.from_numpy(rng.normal(scale=0.3, size=tuple(parameter.shape)))
    return model


results = []
inputs, targets = text[:160].view(4, 40), text[1:161].view(4, 40)
model = fill(CharModel().double())
optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9, nesterov=True)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.5, total_steps=4)
hidden = None
for start in range(0, 40, 10):
    part = slice(start, start + 10)
    logits, hidden = model(inputs[:, part], hidden)
    hidden = tuple(h.detach() for h in hidden)
    loss = F.cross_entropy(logits.reshape(-1, 13), targets[:, part].reshape(-1), label_smoothing=0.1)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    scheduler.step()
    results += [loss.item(), scheduler.get_last_lr()[0]]

model = fill(Causal(10).double())
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
for start in range(0, 40, 10):
    logits = model(inputs[:, start : start + 10])
    loss = F.cross_entropy(logits.transpose(1, 2), targets[:, start : start + 10])
    optimizer.zero_grad()
    loss.backward()
    results.append(nn.utils.clip_grad_norm_(model.parameters(), 0.5).item())
    optimizer.step()
    results.append(loss.item())
model.eval()
with torch.no_grad():
    probabilities = F.softmax(model(inputs[:, :10])[:, -1], dim=-1)
    top, index = probabilities.topk(3, dim=-1)
    results += [*top.flatten().tolist(), *index.flatten().tolist()]
