"""Makes a tiny transformer in a few seconds, without any download.

    small_model.py            into the cache; prints the path of small.pt2
    small_model.py FOLDER     into FOLDER: small.pt2 (torch.export, sample
                              inputs inside), small.ts (TorchScript) and
                              inputs.pt for it; prints the three paths

Token ids (2, 7) in, logits (2, 11) out: embedding, attention with a mask,
layer norm, feed-forward with GELU, a mean over the tokens, log-softmax. Sizes
are odd on purpose. Weights are random with a fixed seed.
"""

import pathlib
import sys

import model_cache

_BATCH, _LENGTH, _WIDTH, _HEADS, _WORDS, _CLASSES = 2, 7, 18, 3, 53, 11


def _make(folder):
    import torch

    class SmallModel(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.words = torch.nn.Embedding(_WORDS, _WIDTH)
            self.positions = torch.nn.Embedding(_LENGTH, _WIDTH)
            self.norm1 = torch.nn.LayerNorm(_WIDTH)
            self.query_key_value = torch.nn.Linear(_WIDTH, 3 * _WIDTH)
            self.project = torch.nn.Linear(_WIDTH, _WIDTH)
            self.norm2 = torch.nn.LayerNorm(_WIDTH)
            self.widen = torch.nn.Linear(_WIDTH, 4 * _WIDTH)
            self.narrow = torch.nn.Linear(4 * _WIDTH, _WIDTH)
            self.classify = torch.nn.Linear(_WIDTH, _CLASSES)
            self.register_buffer("index", torch.arange(_LENGTH))

        def attend(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            parts = self.query_key_value(x).view(
                _BATCH, _LENGTH, 3, _HEADS, _WIDTH // _HEADS
            )
            query, key, value = parts.permute(2, 0, 3, 1, 4).unbind(0)
            score = torch.matmul(query, key.transpose(-2, -1))
            score = score / (_WIDTH // _HEADS) ** 0.5
            score = score.masked_fill(mask[:, None, None, :] == 0, -1e30)
            mixed = torch.matmul(torch.softmax(score, dim=-1), value)
            return self.project(
                mixed.transpose(1, 2).reshape(_BATCH, _LENGTH, _WIDTH)
            )

        def forward(
            self, tokens: torch.Tensor, mask: torch.Tensor
        ) -> torch.Tensor:
            x = self.words(tokens) + self.positions(self.index)
            x = x + self.attend(self.norm1(x), mask)
            hidden = torch.nn.functional.gelu(self.widen(self.norm2(x)))
            x = x + self.narrow(hidden)
            weight = mask.unsqueeze(-1).to(x.dtype)
            mean = (x * weight).sum(dim=1) / weight.sum(dim=1)
            return torch.log_softmax(self.classify(torch.tanh(mean)), dim=-1)

    torch.manual_seed(20261129)
    model = SmallModel().eval()
    tokens = torch.randint(_WORDS, (_BATCH, _LENGTH))
    mask = torch.ones(_BATCH, _LENGTH, dtype=torch.int64)
    mask[1, 4:] = 0
    with torch.no_grad():
        program = torch.export.export(model, (tokens, mask))
        torch.export.save(program, folder / "small.pt2")
        torch.jit.trace(model, (tokens, mask)).save(str(folder / "small.ts"))
    torch.save((tokens, mask), folder / "inputs.pt")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        folder = pathlib.Path(sys.argv[1])
        folder.mkdir(parents=True, exist_ok=True)
        _make(folder)
        for name in ["small.pt2", "small.ts", "inputs.pt"]:
            print(folder / name)
    else:
        print(
            model_cache.cached("small_model", __file__, ["torch"], _make)
            / "small.pt2"
        )
