"""Names to countries: a GRU over characters with packed sequences, as the RNN classifier tutorials have it."""

import random
import string
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset

random.seed(0)
rng = np.random.RandomState(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
all_letters = string.ascii_letters + " .,;'-"
n_letters = len(all_letters)
names = {"English": ["Smith", "Brown", "Clark"], "Czech": ["Novak", "Dvorak", "Cerny"], "Greek": ["Pappas", "Kanakis"]}
all_categories = sorted(names)


class NameDataset(Dataset):
    def __init__(self):
        self.rows = [(name, all_categories.index(c)) for c in all_categories for name in names[c]]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        name, label = self.rows[index]
        return torch.tensor([all_letters.find(ch) for ch in name], dtype=torch.long), label


def collate(batch):
    sequences, labels = zip(*batch)
    lengths = torch.tensor([len(s) for s in sequences])
    return pad_sequence(sequences, batch_first=True), lengths, torch.LongTensor(labels)


class RNNClassifier(nn.Module):
    def __init__(self, input_size, hidden_size, output_size, n_layers=1, bidirectional=True):
        super().__init__()
        self.n_directions = int(bidirectional) + 1
        self.embedding = nn.Embedding(input_size, hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size, n_layers, batch_first=True, bidirectional=bidirectional)
        self.fc = nn.Linear(hidden_size * self.n_directions, output_size)

    def forward(self, input, seq_lengths):
        embedded = self.embedding(input)
        packed = pack_padded_sequence(embedded, seq_lengths.cpu(), batch_first=True, enforce_sorted=False)
        output, hidden = self.gru(packed)
        output, _ = pad_packed_sequence(output, batch_first=True)
        if self.n_directions == 2:
            hidden_cat = torch.cat((hidden[-1], hidden[-2]), 1)
        else:
            hidden_cat = hidden[-1]
        return self.fc(hidden_cat), output


model = RNNClassifier(n_letters, 12, len(all_categories), n_layers=2).to(device)
with torch.no_grad():
    for p in model.parameters():
        p.copy_(torch.from_numpy(rng.normal(0, 0.3, size=tuple(p.size()))))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.RMSprop(model.parameters(), lr=0.005)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
start = time.time()
results = []
for _epoch in range(1, 5):
    model.train()
    total_loss = 0.0
    for inputs, lengths, target in DataLoader(NameDataset(), batch_size=3, collate_fn=collate):
        inputs, target = inputs.to(device), target.to(device)
        output, states = model(inputs, lengths)
        loss = criterion(output, target)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        total_loss += loss.item()
    scheduler.step()
    results += [total_loss, states.std().item(), scheduler.get_last_lr()[0]]

# the plain cell, one character at a time
cell = nn.RNNCell(n_letters, 5)
for p in cell.parameters():
    nn.init.constant_(p, 0.05)
hidden = torch.zeros(1, 5)
for ch in "Novak":
    one_hot = F.one_hot(torch.tensor([all_letters.index(ch)]), n_letters).float()
    hidden = cell(one_hot, hidden)
results += hidden.squeeze().tolist()
model.eval()
with torch.no_grad():
    batch = [NameDataset()[i] for i in range(8)]
    output, _ = model(*collate(batch)[:2])
    top_v, top_i = F.softmax(output, dim=1).topk(2, 1)
    results += top_v.flatten().tolist()
lines = [f"({all_categories[i]}) {v:.2f}" for v, i in zip(top_v[:, 0].tolist(), top_i[:, 0].tolist())]
