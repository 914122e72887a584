"""Writes the models of cli_test: tools/python make_models.py [FOLDER].

tiny.pt2       a torch.export package with sample inputs: linear, relu, softmax
tiny_cuda.pt2  the same as if it had been exported on a CUDA device
tiny.pt        the same as TorchScript
inputs.pt      inputs for tiny.pt
"""

import pathlib
import sys
import zipfile

import torch


class Tiny(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)

    def forward(self, x):
        return torch.softmax(torch.relu(self.linear(x)), dim=-1)


def move_to_cuda(source, target):
    """Copies a package with every device in it replaced by cuda:0."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for item in old.infolist():
            data = old.read(item)
            if item.filename.endswith(".json"):
                data = data.replace(
                    b'"type": "cpu", "index": null', b'"type": "cuda", "index": 0'
                )
            new.writestr(item.filename, data)


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__)
    folder = folder if folder.is_dir() else folder.parent
    torch.manual_seed(20261129)
    model = Tiny().eval()
    x = torch.randn(2, 4)
    torch.export.save(torch.export.export(model, (x,)), folder / "tiny.pt2")
    move_to_cuda(folder / "tiny.pt2", folder / "tiny_cuda.pt2")
    torch.jit.save(torch.jit.trace(model, (x,)), folder / "tiny.pt")
    torch.save((x,), folder / "inputs.pt")


if __name__ == "__main__":
    main()
