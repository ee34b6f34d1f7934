"""Trainings by two processes, started by torchrun: python -m torch.distributed.run --nproc-per-node 2 THIS FOLDER

After every step the processes compare the hashes of all weights and buffers. The first writes what it saw as JSON.
"""

import json
import os
import sys
from hashlib import sha256
from pathlib import Path

import torch.distributed as dist

from replab.report import write as report
from replab.training.ddp.follow import follow
from replab.training.ddp.lead import end_followers
from replab.training.ddp.member import Member

ALIKE = []
SETTINGS = {"limit": 103, "batch_size": 20, "epochs": 2, "lr": 1e-3, "quiet": True}
CASES = {
    "classifier": ("mlp", {"params": {"widths": [8]}, "epochs": 3}),
    "again": ("mlp", {"params": {"widths": [8]}, "epochs": 3}),
    "pieces": ("mlp", {"params": {"widths": [8]}, "batch_size": 7, "accumulate": 4, "epochs": 1}),  # of 3 and 4 images
    "norm": ("resnet8", {"epochs": 1, "limit": 60}),
    "vae": ("vae", {"params": {"latent": 4}}),
    "gan": ("dcgan", {"params": {"latent": 4, "width": 4}}),
    "codes": ("vq-vae", {"params": {"codes": 8, "width": 8}, "epochs": 1}),
}


def compared(average):
    def then(self, model):
        average(self, model)
        values = b"".join(tensor.detach().numpy().tobytes() for tensor in model.state_dict().values())
        everyone = [None] * self.size
        dist.all_gather_object(everyone, sha256(values).hexdigest())
        ALIKE.append(len(set(everyone)) == 1)

    return then


def main(folder):
    Member.average_buffers = compared(Member.average_buffers)
    report.write = lambda *args: None
    if os.environ["RANK"] != "0":
        follow()
        return
    from replab import api

    seen = {}
    for name, (model, settings) in CASES.items():
        ALIKE.clear()
        run = api.run(model, runs=folder, **{**SETTINGS, **settings})
        weights = sha256((run.folder / "model.safetensors").read_bytes()).hexdigest()
        seen[name] = {"folder": str(run.folder), "alike": list(ALIKE), "weights": weights}
    end_followers()
    (folder / "seen.json").write_text(json.dumps(seen))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
