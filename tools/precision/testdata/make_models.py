"""Writes the models of cli_test: tools/python make_models.py [FOLDER].

tiny.pt2       a torch.export package with sample inputs: linear, relu, softmax
tiny_cuda.pt2  the same as if it had been exported on a CUDA device
tiny.pt        the same as TorchScript
inputs.pt      inputs for tiny.pt
"""

import pathlib
import sys
import tempfile
import zipfile

import torch


class Tiny(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)

    def forward(self, x):
        return torch.softmax(torch.relu(self.linear(x)), dim=-1)


def rewrite(source, target, transform):
    """Copies a zip archive; transform(name, data) returns data, or None to drop."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for item in old.infolist():
            data = transform(item.filename, old.read(item))
            if data is not None:
                new.writestr(item.filename, data)


def move_to_cuda(name, data):
    """Every device in the JSON of a package becomes cuda:0."""
    if not name.endswith(".json"):
        return data
    return data.replace(
        b'"type": "cpu", "index": null', b'"type": "cuda", "index": 0'
    )


def drop_debug(name, data):
    """Source positions name folders of the machine that wrote the file."""
    return None if name.endswith(".debug_pkl") else data


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__)
    folder = folder if folder.is_dir() else folder.parent
    torch.manual_seed(20261129)
    model = Tiny().eval()
    x = torch.randn(2, 4)
    program = torch.export.export(model, (x,))
    for node in program.graph.nodes:
        node.meta.pop("stack_trace", None)
    torch.export.save(program, folder / "tiny.pt2")
    rewrite(folder / "tiny.pt2", folder / "tiny_cuda.pt2", move_to_cuda)
    with tempfile.TemporaryDirectory() as temp:
        whole = pathlib.Path(temp) / "tiny.pt"
        torch.jit.save(torch.jit.trace(model, (x,)), whole)
        rewrite(whole, folder / "tiny.pt", drop_debug)
    torch.save((x,), folder / "inputs.pt")


if __name__ == "__main__":
    main()
