"""Loads weights that examples/mnist.py saved and prints their accuracy on MNIST's test images.

    python -m mytorch examples/mnist.py --epochs 1 --save-model mnist.pt
    python -m mytorch examples/evaluate_saved.py mnist.pt

Run on mytorch it reads files saved by mytorch and by PyTorch; either way loading runs no code from the file.
"""

import argparse

import torch
from mnist import Net
from torch.utils.data import DataLoader
from torchvision import datasets, transforms


def accuracy(model, loader):
    model.eval()
    correct = 0
    with torch.no_grad():
        for images, labels in loader:
            correct += (model(images).argmax(dim=1) == labels).sum().item()
    return correct / len(loader.dataset)


def main():
    parser = argparse.ArgumentParser(description="Test accuracy of a saved model")
    parser.add_argument("file", help="what examples/mnist.py --save-model wrote")
    parser.add_argument("--data", default="data", help="the folder that holds MNIST/raw")
    parser.add_argument("--batch-size", type=int, default=1000)
    args = parser.parse_args()
    transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])
    test_set = datasets.MNIST(args.data, train=False, download=True, transform=transform)
    model = Net()
    model.load_state_dict(torch.load(args.file, map_location="cpu", weights_only=True))
    print(f"test accuracy {100 * accuracy(model, DataLoader(test_set, batch_size=args.batch_size)):.2f}%")


if __name__ == "__main__":
    main()
