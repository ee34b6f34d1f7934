"""Sequence to sequence with nn.Transformer: positional encoding, masks, greedy decoding, label smoothing, warm-up."""

import copy
import math

import numpy as np
import torch
import torch.nn as nn
from torch import Tensor

torch.set_default_dtype(torch.float64)
rng = np.random.RandomState(0)
PAD_IDX, BOS_IDX, EOS_IDX, VOCAB = 0, 1, 2, 11
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class PositionalEncoding(nn.Module):
    def __init__(self, emb_size: int, dropout: float, maxlen: int = 50):
        super().__init__()
        den = torch.exp(-torch.arange(0, emb_size, 2) * math.log(10000) / emb_size)
        pos = torch.arange(0, maxlen).reshape(maxlen, 1)
        pos_embedding = torch.zeros((maxlen, emb_size))
        pos_embedding[:, 0::2] = torch.sin(pos * den)
        pos_embedding[:, 1::2] = torch.cos(pos * den)
        pos_embedding = pos_embedding.unsqueeze(-2)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("pos_embedding", pos_embedding)

    def forward(self, token_embedding: Tensor):
        return self.dropout(token_embedding + self.pos_embedding[: token_embedding.size(0), :])


class TokenEmbedding(nn.Module):
    def __init__(self, vocab_size: int, emb_size):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, emb_size)
        self.emb_size = emb_size

    def forward(self, tokens: Tensor):
        return self.embedding(tokens.long()) * math.sqrt(self.emb_size)


class Seq2SeqTransformer(nn.Module):
    def __init__(self, layers, emb_size, nhead, vocab, dim_feedforward=16, dropout=0.0):
        super().__init__()
        self.transformer = nn.Transformer(
            d_model=emb_size,
            nhead=nhead,
            num_encoder_layers=layers,
            num_decoder_layers=layers,
            dim_feedforward=dim_feedforward,
            dropout=dropout,
        )
        self.generator = nn.Linear(emb_size, vocab)
        self.src_tok_emb, self.tgt_tok_emb = TokenEmbedding(vocab, emb_size), TokenEmbedding(vocab, emb_size)
        self.positional_encoding = PositionalEncoding(emb_size, dropout=dropout)

    def forward(self, src, trg, src_mask, tgt_mask, src_padding_mask, tgt_padding_mask, memory_key_padding_mask):
        src_emb = self.positional_encoding(self.src_tok_emb(src))
        tgt_emb = self.positional_encoding(self.tgt_tok_emb(trg))
        paddings = (src_padding_mask, tgt_padding_mask, memory_key_padding_mask)
        return self.generator(self.transformer(src_emb, tgt_emb, src_mask, tgt_mask, None, *paddings))

    def encode(self, src, src_mask):
        return self.transformer.encoder(self.positional_encoding(self.src_tok_emb(src)), src_mask)

    def decode(self, tgt, memory, tgt_mask):
        return self.transformer.decoder(self.positional_encoding(self.tgt_tok_emb(tgt)), memory, tgt_mask)


def generate_square_subsequent_mask(sz):
    mask = (torch.triu(torch.ones((sz, sz), device=DEVICE)) == 1).transpose(0, 1)
    return (
        mask.float().masked_fill(mask == 0, float("-inf")).masked_fill(mask == 1, 0.0).type(torch.get_default_dtype())
    )


def create_mask(src, tgt):
    tgt_mask = generate_square_subsequent_mask(tgt.shape[0])
    src_mask = torch.zeros((src.shape[0], src.shape[0]), device=DEVICE).type(torch.bool)
    return src_mask, tgt_mask, (src == PAD_IDX).transpose(0, 1), (tgt == PAD_IDX).transpose(0, 1)


def batch(count=6):
    """Copy a sequence backwards, padded at the end."""
    src, tgt = torch.full((7, count), PAD_IDX), torch.full((8, count), PAD_IDX)
    for n in range(count):
        body = rng.randint(3, VOCAB, rng.randint(2, 6))
        src[: len(body) + 2, n] = torch.tensor([BOS_IDX, *body, EOS_IDX])
        tgt[: len(body) + 2, n] = torch.tensor([BOS_IDX, *body[::-1], EOS_IDX])
    return src.to(DEVICE), tgt.to(DEVICE)


model = Seq2SeqTransformer(2, 8, 2, VOCAB)
for p in model.parameters():
    if p.dim() > 1:
        nn.init.xavier_uniform_(p)
    p.data.add_(torch.from_numpy(rng.normal(size=tuple(p.shape)))).sub_(
        p.data - torch.from_numpy(rng.normal(0, 0.2, tuple(p.shape)))
    )
model = model.to(DEVICE)
loss_fn = torch.nn.CrossEntropyLoss(ignore_index=PAD_IDX, label_smoothing=0.1)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, betas=(0.9, 0.98), eps=1e-9)
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min((step + 1) ** -0.5, (step + 1) * 4**-1.5))
results, best = [], None
for _step in range(5):
    model.train()
    src, tgt = batch()
    tgt_input = tgt[:-1, :]
    src_mask, tgt_mask, src_padding_mask, tgt_padding_mask = create_mask(src, tgt_input)
    logits = model(src, tgt_input, src_mask, tgt_mask, src_padding_mask, tgt_padding_mask, src_padding_mask)
    optimizer.zero_grad()
    loss = loss_fn(logits.reshape(-1, logits.shape[-1]), tgt[1:, :].reshape(-1))
    loss.backward()
    optimizer.step()
    schedule.step()
    results += [loss.item(), optimizer.param_groups[0]["lr"]]
    if best is None or loss.item() < best[0]:
        best = (loss.item(), copy.deepcopy(model.state_dict()))

model.load_state_dict(best[1])
model.eval()
with torch.no_grad():
    src = batch(1)[0][:5]
    memory = model.encode(src, torch.zeros(5, 5).type(torch.bool))
    ys = torch.ones(1, 1).fill_(BOS_IDX).type(torch.long)
    for _ in range(4):
        out = model.decode(ys, memory, generate_square_subsequent_mask(ys.size(0)))
        prob = model.generator(out.transpose(0, 1)[:, -1])
        _, next_word = torch.max(prob, dim=1)
        results.append(prob.max().item())
        ys = torch.cat([ys, torch.ones(1, 1).type_as(src.data).fill_(next_word.item())], dim=0)
lines = [" ".join(str(token) for token in ys.flatten().tolist()), f"{sum(p.numel() for p in model.parameters()):,}"]
