"""The published NumPy report's own script, as far as its text shows it, on mytorch as it is."""

import pickle
import struct
import subprocess
import sys

import numpy as np
import pytest

import mytorch

SCRIPT = """
import numpy as np
import mytorch
from mytorch import nn, optim
from mytorch.tensor import Tensor

(x_train, y_train), (x_test, y_test) = mytorch.load_mnist("mnist")
assert x_train.dtype == np.uint8 and x_train.shape == (30, 28, 28) and y_train.shape == (30,)
assert (mytorch.read_images("mnist/t10k-images-idx3-ubyte") == x_test).all()
assert (mytorch.read_labels("mnist/t10k-labels-idx1-ubyte") == y_test).all()


def one_hot(labels):
    return np.eye(10)[labels]  # float64


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, kernel_size=5, padding=2)
        self.sigmoid = nn.sigmoid()
        self.fc = nn.Linear(4 * 14 * 14, 10)

    def forward(self, x):
        x = self.sigmoid(self.conv1(x))
        x = nn.AvgPool2d(kernel_size=2)(x)
        x = nn.Flatten()(x)
        assert x.data.shape == (10, 4 * 14 * 14)
        return self.fc(x)


mytorch.manual_seed(0)
model = LeNet()
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(model.parameters(), lr=0.5)
losses = []
for epoch in range(4):
    for start in range(0, 30, 10):
        images = x_train[start : start + 10].reshape(-1, 1, 28, 28) / 255.0  # float64
        outputs = model(Tensor(images))
        loss = criterion(outputs, Tensor(one_hot(y_train[start : start + 10])))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
assert losses[-1] < losses[0], losses
probabilities = nn.SimpleSoftmax()(model(Tensor(x_test[:10].reshape(-1, 1, 28, 28) / 255.0)))
assert abs(float(probabilities.data.numpy().sum()) - 10) < 1e-5
stored = mytorch.load("lenet.pkl")
assert stored["fc"]["weight"].shape == (784, 10)
print("numpy-lab runs", outputs.dtype)
"""


def test_the_script_runs(tmp_path):
    rng = np.random.default_rng(0)
    folder = tmp_path / "mnist"
    folder.mkdir()
    for part, count in (("train", 30), ("t10k", 12)):
        labels = (np.arange(count) % 10).astype(np.uint8)
        images = (rng.random((count, 28, 28)) * 60 + 15 * labels[:, None, None]).astype(np.uint8)
        for kind, array in (("images-idx3", images), ("labels-idx1", labels)):
            header = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
            (folder / f"{part}-{kind}-ubyte").write_bytes(header + array.tobytes())
    (tmp_path / "lenet.pkl").write_bytes(pickle.dumps({"fc": {"weight": rng.normal(size=(784, 10))}}))
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "numpy-lab runs torch.float32\n", done.stderr


def test_wrong_files_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="must hold MNIST's train-images-idx3-ubyte"):
        mytorch.load_mnist(tmp_path)
    path = tmp_path / "labels"
    path.write_bytes(bytes([0, 0, 8, 1]) + struct.pack(">I", 2) + b"\x01\x02")
    assert mytorch.read_labels(path).tolist() == [1, 2]
    with pytest.raises(ValueError, match="must hold images"):
        mytorch.read_images(path)


def test_the_class_of_scripts_is_torchs_and_of_the_package_the_plain_one():
    from mytorch.tensor import Tensor

    assert Tensor is mytorch.Tensor
    assert Tensor(np.zeros(2)).dtype == mytorch.float32
    assert type(Tensor([1.0])) == mytorch.nn.functional.activation.Tensor  # noqa: E721
    back = pickle.loads(pickle.dumps(mytorch.arange(3)))
    assert back.tolist() == [0, 1, 2]
