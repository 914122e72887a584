"""A Llama, operator by operator as in eager mode; random weights, no training."""

from __future__ import annotations

import dataclasses

import torch
from torch import nn


@dataclasses.dataclass(frozen=True)
class Size:
    layers: int = 8
    hidden: int = 1024
    heads: int = 16
    kv_heads: int = 8
    intermediate: int = 2816
    vocabulary: int = 32000
    batch: int = 2
    tokens: int = 256

    @property
    def head(self) -> int:
        return self.hidden // self.heads


TINY = Size(
    layers=2,
    hidden=32,
    heads=4,
    kv_heads=2,
    intermediate=48,
    vocabulary=100,
    batch=2,
    tokens=8,
)


class _RmsNorm(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = x.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * wide.to(x.dtype)


def _rotated(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


class _Layer(nn.Module):
    def __init__(self, size: Size) -> None:
        super().__init__()
        self._size = size
        kv = size.kv_heads * size.head
        self.norm_1 = _RmsNorm(size.hidden)
        self.q = nn.Linear(size.hidden, size.hidden, bias=False)
        self.k = nn.Linear(size.hidden, kv, bias=False)
        self.v = nn.Linear(size.hidden, kv, bias=False)
        self.o = nn.Linear(size.hidden, size.hidden, bias=False)
        self.norm_2 = _RmsNorm(size.hidden)
        self.gate = nn.Linear(size.hidden, size.intermediate, bias=False)
        self.up = nn.Linear(size.hidden, size.intermediate, bias=False)
        self.down = nn.Linear(size.intermediate, size.hidden, bias=False)

    def _repeated(self, x: torch.Tensor) -> torch.Tensor:
        """Each head of keys or values, once for every head that shares it."""
        batch, heads, tokens, width = x.shape
        times = self._size.heads // heads
        wide = x[:, :, None].expand(batch, heads, times, tokens, width)
        return wide.reshape(batch, heads * times, tokens, width)

    def _attention(
        self,
        x: torch.Tensor,
        cos: torch.Tensor,
        sin: torch.Tensor,
        mask: torch.Tensor,
    ) -> torch.Tensor:
        batch, tokens, _ = x.shape
        q, k, v = (
            part(x).view(batch, tokens, -1, self._size.head).transpose(1, 2)
            for part in (self.q, self.k, self.v)
        )
        q = _rotated(q, cos, sin)
        k = self._repeated(_rotated(k, cos, sin))
        v = self._repeated(v)
        scores = torch.matmul(q, k.transpose(2, 3)) * self._size.head**-0.5
        scores = scores + mask
        weights = nn.functional.softmax(scores, dim=-1, dtype=torch.float32)
        mixed = torch.matmul(weights.to(q.dtype), v).transpose(1, 2).contiguous()
        return self.o(mixed.reshape(batch, tokens, -1))

    def forward(
        self,
        x: torch.Tensor,
        cos: torch.Tensor,
        sin: torch.Tensor,
        mask: torch.Tensor,
    ) -> torch.Tensor:
        x = x + self._attention(self.norm_1(x), cos, sin, mask)
        y = self.norm_2(x)
        return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    """Token ids (batch, tokens) in, logits (batch, tokens, vocabulary) out."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self._size = size
        self.embedding = nn.Embedding(size.vocabulary, size.hidden)
        self.layers = nn.ModuleList(_Layer(size) for _ in range(size.layers))
        self.norm = _RmsNorm(size.hidden)
        self.head = nn.Linear(size.hidden, size.vocabulary, bias=False)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embedding(ids)
        tokens, width = ids.shape[1], self._size.head
        even = torch.arange(0, width, 2, device=ids.device).float()
        positions = torch.arange(tokens, device=ids.device).float()
        angles = torch.outer(positions, 10000.0 ** (-even / width))
        angles = torch.cat((angles, angles), dim=-1)
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        lowest = torch.finfo(x.dtype).min
        mask = torch.full((tokens, tokens), lowest, dtype=x.dtype, device=x.device)
        mask = mask.triu(1)
        for layer in self.layers:
            x = layer(x, cos, sin, mask)
        return self.head(self.norm(x))


def model_and_ids(size: Size, device: str) -> tuple[Llama, torch.Tensor]:
    """A model in bfloat16 and one batch for it."""
    torch.manual_seed(20261130)
    with torch.device(device):
        model = Llama(size).to(torch.bfloat16).eval()
        for parameter in model.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)
        ids = torch.randint(size.vocabulary, (size.batch, size.tokens))
    return model, ids
