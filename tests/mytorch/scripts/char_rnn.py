"""A character LSTM that learns a sentence and continues it, with hidden states carried from batch to batch."""

import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim import lr_scheduler

torch.manual_seed(1111)
rng = np.random.RandomState(3)
text = "the quick brown fox jumps over the lazy dog. " * 4
chars = sorted(set(text))
char2int = {ch: i for i, ch in enumerate(chars)}
encoded = np.array([char2int[ch] for ch in text])


def get_batches(arr, batch_size, seq_length):
    n_batches = len(arr) // (batch_size * seq_length)
    arr = arr[: n_batches * batch_size * seq_length].reshape((batch_size, -1))
    for n in range(0, arr.shape[1], seq_length):
        x = arr[:, n : n + seq_length]
        y = np.zeros_like(x)
        y[:, :-1], y[:, -1] = x[:, 1:], arr[:, (n + seq_length) % arr.shape[1]]
        yield x, y


class CharRNN(nn.Module):
    def __init__(self, n_tokens, n_hidden=16, n_layers=2, drop_prob=0.0):
        super().__init__()
        self.n_layers, self.n_hidden = n_layers, n_hidden
        self.encoder = nn.Embedding(n_tokens, n_hidden)
        self.lstm = nn.LSTM(n_hidden, n_hidden, n_layers, dropout=drop_prob, batch_first=True)
        self.dropout = nn.Dropout(drop_prob)
        self.fc = nn.Linear(n_hidden, n_tokens)
        self.init_weights()

    def init_weights(self):
        for weight in self.parameters():
            weight.data.copy_(torch.Tensor(rng.uniform(-0.2, 0.2, tuple(weight.size()))))
        self.fc.bias.data.fill_(0)

    def forward(self, x, hidden):
        r_output, hidden = self.lstm(self.encoder(x), hidden)
        out = self.dropout(r_output).contiguous().view(-1, self.n_hidden)
        return self.fc(out), hidden

    def init_hidden(self, batch_size):
        weight = next(self.parameters()).data
        return (
            weight.new(self.n_layers, batch_size, self.n_hidden).zero_(),
            weight.new_zeros(self.n_layers, batch_size, self.n_hidden),
        )


def repackage_hidden(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


net = CharRNN(len(chars))
opt = torch.optim.Adam(net.parameters(), lr=0.01)
scheduler = lr_scheduler.ReduceLROnPlateau(opt, "min", patience=0, factor=0.5)
criterion = nn.CrossEntropyLoss()
results = []
for _e in range(3):
    h = net.init_hidden(2)
    net.train()
    for x, y in get_batches(encoded, 2, 15):
        inputs, targets = torch.from_numpy(x), torch.from_numpy(y)
        h = repackage_hidden(h)
        net.zero_grad()
        output, h = net(inputs, h)
        loss = criterion(output, targets.view(2 * 15).long())
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 5)
        opt.step()
    scheduler.step(loss)
    results += [loss.item(), math.exp(loss.item()), opt.param_groups[0]["lr"]]

net.eval()
h, ch, lines = net.init_hidden(1), "t", []
with torch.no_grad():
    for _ in range(12):
        out, h = net(torch.tensor([[char2int[ch]]]), h)
        p = F.softmax(out / 0.8, dim=1).data
        p, top_ch = p.topk(3)
        ch = chars[top_ch.numpy().squeeze()[0]]
        lines.append(ch)
        results.append(p.squeeze()[0].item())
checkpoint = {"n_hidden": net.n_hidden, "state_dict": net.state_dict(), "tokens": chars}
with open("rnn.net", "wb") as f:
    torch.save(checkpoint, f)
with open("rnn.net", "rb") as f:
    loaded = CharRNN(len(torch.load(f)["tokens"]))
    f.seek(0)
    lines.append(str(loaded.load_state_dict(torch.load(f, map_location="cpu")["state_dict"])))
