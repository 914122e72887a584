"""Kernels registered from Python: 24 wrong ones that must be reported, each by
its reason, and 12 kinds of right ones that must not.

They are those of `precision selftest` of the same names, written with torch and
numpy. A kernel must not call its own operator, which is replaced.
"""

from __future__ import annotations

import dataclasses
import math
import unittest
from collections.abc import Callable
from typing import Any, Optional

import numpy as np
import testutil
import torch

import flaggems

INF = math.inf
NAN = math.nan

Tensor = torch.Tensor
Call = tuple[Any, ...]


@dataclasses.dataclass(frozen=True)
class Case:
    id: str
    op: str
    # Of the FAIL that is to be reported; None: a right kernel.
    reason: Optional[str]
    kernel: Callable[..., Any]
    # Positional arguments of each call.
    calls: Callable[[], list[Call]]
    # Calls on which a wrong kernel is right.
    hides: Optional[Callable[[], list[Call]]] = None
    keywords: dict[str, Any] = dataclasses.field(default_factory=dict)
    # Past the keys above the CPU: torch carries out conjugate bits there.
    at_cpu_key: bool = False
    allow_tf32: bool = False


def randn(seed: int, *size: int, dtype: torch.dtype = torch.float32) -> Tensor:
    values = np.random.default_rng(seed).standard_normal(size)
    return torch.from_numpy(np.asarray(values)).to(dtype)


def uniform(
    seed: int, *size: int, low: float, high: float, dtype: torch.dtype = torch.float32
) -> Tensor:
    values = np.random.default_rng(seed).uniform(low, high, size)
    return torch.from_numpy(values).to(dtype)


def exact_exp(x: Tensor) -> Tensor:
    return torch.exp2(x.double() * math.log2(math.e)).to(x.dtype)


def linear_strides(x: Tensor) -> list[int]:
    strides = [1] * x.dim()
    for i in reversed(range(x.dim() - 1)):
        strides[i] = strides[i + 1] * x.size(i + 1)
    return strides


def read_linearly(x: Tensor) -> Tensor:
    return torch.as_strided(x, list(x.shape), linear_strides(x))


def exact_product(a: Tensor, b: Tensor) -> Tensor:
    product = a.numpy().astype(np.float64) @ b.numpy().astype(np.float64)
    return torch.from_numpy(product.astype(np.float32))


# --- Wrong kernels. ---


def clamp_by_fmin(x, low=None, high=None):
    return torch.fmin(
        torch.fmax(x, torch.tensor(float(low))), torch.tensor(float(high))
    )


def trunc_div_in_float(a, b, *, rounding_mode):
    return torch.trunc(torch.true_divide(a.float(), b.float())).to(a.dtype)


def exp_without_tail(x):
    out = exact_exp(x)
    out[out.numel() - out.numel() % 256 :].zero_()
    return out


def sum_in_input_dtype(x, *, dtype=None):
    return torch.tensor(int(x.numpy().sum()), dtype=x.dtype)


def relu_contiguous_first(x):
    return torch.clamp_min(x.contiguous(), 0)


def exp_of_storage(x):
    out = torch.empty_like(x)
    return out.copy_(exact_exp(read_linearly(x)))


def exp_modulo(x):
    period = 2**20
    out = exact_exp(x)
    beyond = out.numel() - period
    if beyond > 0:
        out[period:].copy_(out[:beyond])
    return out


def relu_in_place(x):
    return x.clamp_min_(0)


def clamp_to_half_bounds(x, low=None, high=None):
    return x.copy_(torch.clamp(x, low / 2, high / 2))


def batch_norm_biased_variance(
    x, weight, bias, running_mean, running_var, training, momentum, eps
):
    def per_channel(values):
        return values.view([1, -1] + [1] * (x.dim() - 2))

    if training:
        dims = [0, *range(2, x.dim())]
        mean = x.double().mean(dims)
        var = (x.double() - per_channel(mean)).square().mean(dims)
        running_mean.mul_(1 - momentum).add_((momentum * mean).float())
        running_var.mul_(1 - momentum).add_((momentum * var).float())
        saved = mean.float(), torch.rsqrt(var + eps).float()
    else:
        mean, var = running_mean.double(), running_var.double()
        saved = x.new_empty(0), x.new_empty(0)
    out = (x - per_channel(mean)) * per_channel(torch.rsqrt(var + eps))
    out = out * per_channel(weight) + per_channel(bias)
    return (out.to(x.dtype), *saved)


class DoubledFromEleventh:
    calls = 0

    def __call__(self, x):
        self.calls += 1
        return exact_exp(x) * (2 if self.calls > 10 else 1)


def max_without_nan(x):
    return torch.amax(torch.nan_to_num(x, -INF, INF, -INF))


def var_without_correction(x, dim=None, *, correction=None, keepdim=False):
    values = x.double()
    return (values - values.mean()).square().mean().to(x.dtype)


def sum_in_half(x, *, dtype=None):
    return torch.tensor(np.add.accumulate(x.numpy(), dtype=np.float16)[-1])


def softmax_rows(x, dim):
    shifted = x.float() - x.float().amax(dim, keepdim=True)
    powers = shifted.exp()
    return (powers / powers.sum(dim, keepdim=True)).to(x.dtype)


def softmax_zeros_for_long_rows(x, dim, half_to_float):
    out = softmax_rows(x, dim)
    return out.zero_() if x.size(dim) > 4096 else out


def normalized(x, dims, eps):
    values = x.double()
    mean = values.mean(dims, keepdim=True)
    rstd = torch.rsqrt((values - mean).square().mean(dims, keepdim=True) + eps)
    return (values - mean) * rstd, mean.float(), rstd.float()


def layer_norm(x, normalized_shape, weight, bias, eps):
    dims = list(range(x.dim() - len(normalized_shape), x.dim()))
    out, mean, rstd = normalized(x, dims, eps)
    if weight is not None:
        out = out * weight
    if bias is not None:
        out = out + bias
    return out.to(x.dtype), mean, rstd


def layer_norm_fixed_eps(x, normalized_shape, weight, bias, eps):
    return layer_norm(x, normalized_shape, weight, bias, 1e-5)


def attention_scale_from_second_block(
    q,
    k,
    v,
    attn_mask=None,
    dropout_p=0.0,
    is_causal=False,
    *,
    scale=None,
    enable_gqa=False,
):
    scores = (q.double() @ k.double().transpose(-1, -2)) / math.sqrt(q.size(-1))
    scores[..., 4:] *= 1.4427
    return (scores.softmax(-1) @ v.double()).to(q.dtype)


def truncated(x, bits):
    words = x.numpy().view(np.uint32) & np.uint32(0xFFFFFFFF << bits & 0xFFFFFFFF)
    return torch.from_numpy(words.view(np.float32))


def mm_of_ten_bits(a, b):
    return exact_product(truncated(a, 13), truncated(b, 13))


def mm_stale_slice(a, b):
    if a.size(1) % 32:
        a = torch.cat([a, a[:, -1:]], 1)
        b = torch.cat([b, b[-1:]], 0)
    return exact_product(a, b)


def scatter_add_last_wins(x, dim, index, src):
    return torch.scatter(x, dim, index, torch.gather(x, dim, index) + src)


def topk_of_two_per_chunk(x, k, dim=-1, largest=True, sorted=True):
    values, indices = [], []
    for start in range(0, x.size(0), 8):
        order = torch.argsort(x[start : start + 8], descending=True)[:2] + start
        indices.append(order)
        values.append(x[order])
    candidates, positions = torch.cat(values), torch.cat(indices)
    order = torch.argsort(candidates, descending=True)[:k]
    return candidates[order], positions[order]


def argmax_off_by_fifty(x, dim=None, keepdim=False):
    index = int(x.numpy().argmax())
    return torch.tensor(index - 50 if x.numel() > 1000 else index)


def mm_written_linearly(a, b, *, out):
    read_linearly(out).copy_(exact_product(a, b))
    return out


def mul_ignoring_conj_bit(a, b):
    def as_stored(x):
        return (x.conj() if x.is_conj() else x).numpy()

    return torch.from_numpy(np.asarray(as_stored(a) * as_stored(b)))


# --- Right kernels. ---


def addmm_exact(bias, a, b, *, beta=1, alpha=1):
    product = a.numpy().astype(np.float64) @ b.numpy().astype(np.float64)
    return torch.from_numpy((product + bias.numpy()).astype(np.float32))


def conv2d_exact(
    x, weight, bias=None, stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1
):
    wide = bias.double() if bias is not None else None
    return torch.ops.aten.convolution(
        x.double(),
        weight.double(),
        wide,
        stride,
        padding,
        dilation,
        False,
        [0, 0],
        groups,
    ).float()


def index_add_in_float(x, dim, index, source, *, alpha=1):
    out = x.float().numpy().copy()
    np.add.at(out, index.numpy(), source.float().numpy())
    return torch.from_numpy(out).to(x.dtype)


def sum_exact(x, *, dtype=None):
    return torch.tensor(math.fsum(x.double().tolist()), dtype=x.dtype)


def scatter_backwards(x, dim, index, src):
    out = x.clone()
    for position, value in reversed(list(zip(index.tolist(), src.tolist()))):
        out[position] = value
    return out


def max_other_index(x, dim, keepdim=False):
    last = x.size(dim) - 1 - x.flip(dim).numpy().argmax(dim)
    index = torch.from_numpy(last)
    return torch.gather(x, dim, index.unsqueeze(dim)).squeeze(dim), index


def anew(function):
    return lambda x, *args, **kwargs: x.copy_(function(x, *args, **kwargs))


GENERATOR = np.random.default_rng(7)


def own_rand(size, *, dtype=None, layout=None, device=None, pin_memory=None):
    return torch.from_numpy(GENERATOR.random(size, dtype=np.float32))


def own_randn_like(
    x, *, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None
):
    return torch.from_numpy(GENERATOR.standard_normal(x.shape, dtype=np.float32))


def own_dropout(x, p, train):
    mask = torch.from_numpy(GENERATOR.random(x.shape, dtype=np.float32) >= p)
    return x * mask * (1 / (1 - p)), mask


def any_content(size, strides):
    numel = 1 + sum((n - 1) * stride for n, stride in zip(size, strides))
    return torch.full((numel,), NAN).as_strided(size, strides)


def any_content_like(
    x, *, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None
):
    return any_content(x.shape, x.stride())


def any_content_strided(
    size, stride, *, dtype=None, layout=None, device=None, pin_memory=None
):
    return any_content(size, stride)


def group_norm(x, weight, bias, n, c, hxw, group, eps):
    out, mean, rstd = normalized(x.reshape(n, group, -1), [2], eps)
    out = out.view(n, c, -1) * weight.view(1, -1, 1) + bias.view(1, -1, 1)
    return out.view(x.shape).to(x.dtype), mean.view(n, group), rstd.view(n, group)


def half_through_float(function):
    def kernel(a, b):
        return torch.from_numpy(function(a.float().numpy(), b.float().numpy())).half()

    return kernel


def mm_of_ten_bits_rounded(a, b):
    def rounded(x):
        fraction, exponent = np.frexp(x.numpy().astype(np.float64))
        values = np.ldexp(np.round(fraction * 2**11) / 2**11, exponent)
        return torch.from_numpy(values.astype(np.float32))

    return exact_product(rounded(a), rounded(b))


def softmax_by_exp2(x, dim, half_to_float):
    shifted = x - x.amax(dim, keepdim=True)
    product = shifted.double() * math.log2(math.e)
    high = product.float()
    low = (product - high).float()
    powers = torch.exp2(high) * (1 + low * math.log(2))
    return powers * (1 / powers.sum(dim, keepdim=True))


def log_by_log2(x):
    # Near one, the product would lose what log1p keeps.
    return torch.where(
        (x > 0.5) & (x < 2),
        torch.log1p(x - 1),
        (torch.log2(x.double()) * math.log(2)).float(),
    )


def erf_by_erfc(x):
    near = torch.tensor([math.erf(value) for value in x.tolist()], dtype=x.dtype)
    return torch.where(x.abs() < 1, near, torch.copysign(1 - torch.erfc(x.abs()), x))


def gelu_by_erfc(x, *, approximate="none"):
    return (0.5 * x * torch.erfc(-x.double() / math.sqrt(2))).float()


# --- The table. ---


def half_pairs() -> list[Call]:
    divisors = [0.1, 0.1, 0.1, 0.1, 0.5, 0.1]
    return [(torch.tensor([1, 2, 3, 0.7, 5, -1]).half(), torch.tensor(divisors).half())]


def products(m: int, k: int, n: int) -> list[Call]:
    return [(randn(1, m, k), randn(2, k, n))]


def integer_products() -> list[Call]:
    return [(torch.arange(12.0).view(3, 4), torch.arange(8.0).view(4, 2))]


def attention_call(keys: int) -> list[Call]:
    return [(randn(1, 1, 2, 6, 16), randn(2, 1, 2, keys, 16), randn(3, 1, 2, keys, 16))]


def batch_norm_call(training: bool) -> list[Call]:
    return [
        (
            randn(16, 2, 3, 2),
            uniform(1, 3, low=0.5, high=2),
            randn(2, 3),
            randn(3, 3),
            uniform(4, 3, low=0.5, high=2),
            training,
            0.5,
            1e-5,
        )
    ]


def layer_norm_call(x: Tensor, eps: float, affine: bool = False) -> list[Call]:
    n = x.size(-1)
    weight = uniform(71, n, low=0.5, high=2).to(x.dtype) if affine else None
    bias = randn(72, n).to(x.dtype) if affine else None
    return [(x, [n], weight, bias, eps)]


def cancelling() -> Tensor:
    signs = torch.tensor([1.0, -1.0, 1.0, -1.0]).view(4, 1)
    return (signs * 1e8 + randn(3, 4, 256) * 100).view(-1)


def scatter_add_call(index: list[int]) -> list[Call]:
    x = torch.tensor([10.0, 20.0, 30.0, 40.0])
    return [(x, 0, torch.tensor(index), torch.tensor([1.0, 2.0, 3.0]))]


def own_strides(seed: int) -> Tensor:
    return randn(seed, 12)[::2]


CASES = [
    Case(
        "W01", "aten::clamp", "special", clamp_by_fmin,
        lambda: [(torch.tensor([NAN, 0.5]), 0, 1)],
        lambda: [(torch.tensor([2, 0.5]), 0, 1)],
    ),
    Case(
        "W02", "aten::div.Tensor_mode", "value", trunc_div_in_float,
        lambda: [(torch.tensor([16777217]), torch.tensor([1]))],
        lambda: [(torch.tensor([7]), torch.tensor([2]))],
        keywords={"rounding_mode": "trunc"},
    ),
    Case(
        "W04", "aten::exp", "value", exp_without_tail,
        lambda: [(randn(4, 257),)],
        lambda: [(randn(4, 256),)],
    ),
    Case(
        "W05", "aten::sum", "dtype", sum_in_input_dtype,
        lambda: [(torch.tensor([1, 2, 3], dtype=torch.int32),)],
        lambda: [(torch.tensor([1, 2, 3]),)],
    ),
    Case(
        "W06", "aten::relu", "layout", relu_contiguous_first,
        lambda: [(randn(6, 2, 4, 5, 3).permute(0, 3, 1, 2),)],
        lambda: [(randn(6, 2, 3, 4, 5),)],
    ),
    Case(
        "W08", "aten::exp", "value", exp_of_storage,
        lambda: [(randn(8, 3, 4).t(),)],
        lambda: [(randn(8, 4, 3),)],
    ),
    Case(
        "W10", "aten::exp", "value", exp_modulo,
        lambda: [(uniform(10, 2**20 + 7, low=-1, high=1),)],
        lambda: [(uniform(10, 1024, low=-1, high=1),)],
    ),
    Case(
        "W12", "aten::relu", "argument", relu_in_place,
        lambda: [(torch.tensor([-1.0, 2, -3]),)],
    ),
    Case(
        "W14", "aten::clamp_", "value", clamp_to_half_bounds,
        lambda: [(randn(14, 50) * 3, -1.0, 1.0)],
        lambda: [(uniform(14, 50, low=-0.5, high=0.5), -1.0, 1.0)],
    ),
    Case(
        "W16", "aten::native_batch_norm", "argument", batch_norm_biased_variance,
        lambda: batch_norm_call(True),
        lambda: batch_norm_call(False),
    ),
    Case(
        "W17", "aten::exp", "value", DoubledFromEleventh(),
        lambda: [(randn(100, 12),)],
        lambda: [(randn(100 + i, 12),) for i in range(10)],
    ),
    Case(
        "W19", "aten::max", "special", max_without_nan,
        lambda: [(torch.tensor([1, NAN]),)],
        lambda: [(torch.tensor([1.0, 2.0]),)],
    ),
    Case(
        "W21", "aten::var.correction", "value", var_without_correction,
        lambda: [(randn(21, 100000),)],
        lambda: [(torch.full((8,), 3.0),)],
        keywords={"correction": 1},
    ),
    Case(
        "W23", "aten::sum", "value", sum_in_half,
        lambda: [(torch.ones(4096).half(),)],
        lambda: [(torch.ones(2048).half(),)],
    ),
    Case(
        "W25", "aten::_softmax", "value", softmax_zeros_for_long_rows,
        lambda: [(uniform(25, 2, 50257, low=-1, high=1).half(), -1, False)],
        lambda: [(uniform(25, 2, 8, low=-1, high=1).half(), -1, False)],
    ),
    Case(
        "W26", "aten::native_layer_norm", "value", layer_norm_fixed_eps,
        lambda: layer_norm_call(randn(26, 4, 32) * 1e-2, 1e-3),
        lambda: layer_norm_call(randn(26, 4, 32), 1e-5),
    ),
    Case(
        "W28", "aten::scaled_dot_product_attention", "value",
        attention_scale_from_second_block,
        lambda: attention_call(8),
        lambda: attention_call(4),
    ),
    Case("W30", "aten::mm", "value", mm_of_ten_bits, lambda: products(32, 256, 32), integer_products),
    Case(
        "W31", "aten::mm", "value", mm_stale_slice,
        lambda: products(8, 33, 9),
        lambda: products(8, 32, 9),
    ),
    Case(
        "W34", "aten::scatter_add", "value", scatter_add_last_wins,
        lambda: scatter_add_call([1, 1, 2]),
        lambda: scatter_add_call([3, 1, 2]),
    ),
    Case(
        "W36", "aten::topk", "value", topk_of_two_per_chunk,
        lambda: [(torch.arange(15.0, -1, -1), 4, 0)],
        lambda: [(torch.tensor([9.0, 8, 1, 1, 1, 1, 1, 1, 7, 6, 1, 1, 1, 1, 1, 1]), 4, 0)],
    ),
    Case(
        "W38", "aten::argmax", "value", argmax_off_by_fifty,
        lambda: [(torch.arange(1e6),)],
        lambda: [(torch.arange(100.0),)],
    ),
    Case(
        "W39", "aten::mm.out", "value", mm_written_linearly,
        lambda: products(4, 6, 4),
        keywords={"out": torch.zeros(4, 4).t()},
    ),
    Case(
        "W40", "aten::mul.Tensor", "value", mul_ignoring_conj_bit,
        lambda: [(torch.tensor([1 + 2j]).conj(), torch.tensor([1 + 0j]))],
        lambda: [(torch.tensor([1 + 2j]), torch.tensor([1 + 0j]))],
        at_cpu_key=True,
    ),
    Case(
        "R1a", "aten::mm", None, exact_product,
        lambda: products(8, 512, 8) + products(4, 4096, 4),
    ),
    Case(
        "R1b", "aten::addmm", None, addmm_exact,
        lambda: [(randn(5, 8), *products(8, k, 8)[0]) for k in (512, 4096)],
    ),
    Case(
        "R1c", "aten::conv2d", None, conv2d_exact,
        lambda: [(randn(1, 1, c, 5, 5), randn(2, 4, c, 3, 3)) for c in (64, 512)],
    ),
    Case(
        "R2", "aten::index_add", None, index_add_in_float,
        lambda: [
            (
                torch.zeros(2, dtype=torch.bfloat16),
                0,
                torch.zeros(1000, dtype=torch.int64),
                torch.ones(1000, dtype=torch.bfloat16),
            )
        ],
    ),
    Case("R3", "aten::sum", None, sum_exact, lambda: [(cancelling(),)]),
    Case(
        "R4", "aten::scatter.src", None, scatter_backwards,
        lambda: [
            (
                torch.tensor([10.0, 20, 30]),
                0,
                torch.tensor([1, 1, 2, 2]),
                torch.tensor([1.0, 2, 3, 4]),
            )
        ],
    ),
    Case(
        "R5", "aten::max.dim", None, max_other_index,
        lambda: [(torch.tensor([[1.0, 3, 3], [2, 2, 2], [5, 1, 5]]), 1)],
    ),
    Case(
        "R6a", "aten::add_.Tensor", None, anew(torch.add),
        lambda: [(randn(1, 6), randn(2, 6)), (own_strides(3), randn(2, 6))],
        keywords={"alpha": 2},
    ),
    Case(
        "R6b", "aten::mul_.Tensor", None, anew(torch.mul),
        lambda: [(randn(1, 6), randn(2, 6)), (own_strides(3), randn(2, 6))],
    ),
    Case(
        "R6c", "aten::exp_", None, anew(torch.exp),
        lambda: [(randn(1, 6),), (own_strides(3),)],
    ),
    Case("R6d", "aten::sigmoid_", None, anew(torch.sigmoid), lambda: [(randn(1, 6),)]),
    Case("R7a", "aten::rand", None, own_rand, lambda: [([100, 100],)]),
    Case(
        "R7b", "aten::randn_like", None, own_randn_like,
        lambda: [(torch.zeros(100, 100),)],
    ),
    Case(
        "R7c", "aten::native_dropout", None, own_dropout,
        lambda: [(torch.full((10000,), 1.5), 0.3, True)],
    ),
    Case(
        "R8a", "aten::empty_like", None, any_content_like,
        lambda: [(randn(1, 3, 4).t(),)],
    ),
    Case(
        "R8b", "aten::empty_strided", None, any_content_strided,
        lambda: [([3, 4], [1, 3])],
    ),
    Case(
        "R9a", "aten::native_layer_norm", None, layer_norm,
        lambda: layer_norm_call(randn(9, 4, 64).half(), 1e-5, affine=True),
    ),
    Case(
        "R9b", "aten::native_group_norm", None, group_norm,
        lambda: [
            (
                randn(9, 2, 6, 10).bfloat16(),
                uniform(1, 6, low=0.5, high=2).bfloat16(),
                randn(2, 6).bfloat16(),
                2, 6, 10, 3, 1e-5,
            )
        ],
    ),
    Case("R10a", "aten::floor_divide", None, half_through_float(np.floor_divide), half_pairs),
    Case("R10b", "aten::remainder.Tensor", None, half_through_float(np.mod), half_pairs),
    Case(
        "R11", "aten::mm", None, mm_of_ten_bits_rounded,
        lambda: products(16, 256, 16),
        allow_tf32=True,
    ),
    Case(
        "R12a", "aten::_softmax", None, softmax_by_exp2,
        lambda: [(randn(12, 5, 300), -1, False)],
    ),
    Case(
        "R12b", "aten::log", None, log_by_log2,
        lambda: [(uniform(12, 300, low=1e-3, high=100),)],
    ),
    Case("R12c", "aten::erf", None, erf_by_erfc, lambda: [(randn(12, 300),)]),
    Case(
        "R12d", "aten::gelu", None, gelu_by_erfc,
        lambda: [(randn(12, 300),), (torch.tensor([-4.0, -3, -2, -1, 0, 4]),)],
    ),
]  # fmt: skip


class MutantsTest(testutil.PrecisionTestCase):
    def session(self, case: Case, calls: list[Call]) -> flaggems.OpSummary:
        """What a check says of the calls of an observed kernel."""
        self.check(profile="strict")
        op = testutil.overload(case.op)
        for call in calls:
            if case.at_cpu_key:
                keys = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
                op.redispatch(keys, *call, **case.keywords)
            else:
                op(*call, **case.keywords)
        flaggems.disable_precision_check()
        return self.summary_of(case.op.removeprefix("aten::"))

    def judge(self, case: Case) -> None:
        # Making them may call the operator.
        calls = case.calls()
        hides = case.hides() if case.hides else []
        with testutil.registered(case.op, case.kernel):
            with flaggems.observe(case.op, device="cpu"):
                if hides:
                    said = self.session(case, hides)
                    self.assertEqual(said["passed"], len(hides), f"hiding: {said}")
                said = self.session(case, calls)
        records = self.records()
        if case.reason is None:
            self.assertEqual(said["passed"], len(calls), f"{said} {records}")
            self.assertEqual(records, [])
        else:
            self.assertEqual(said["failed"], len(calls), f"{said} {records}")
            self.assertIn(case.reason, said["failed_by_reason"], records)
            self.assertEqual(len(records), len(calls))
            self.assertEqual(records[0]["op"], case.op.removeprefix("aten::"))
            self.assertEqual(records[0]["status"], "FAIL")

    def test_all_are_here(self) -> None:
        wrong = [case.id for case in CASES if case.reason]
        right = {case.id.rstrip("abcd") for case in CASES if not case.reason}
        self.assertEqual(len(wrong), 24)
        self.assertEqual(right, {f"R{i}" for i in range(1, 13)})


def _test_of(case: Case) -> Callable[[MutantsTest], None]:
    def test(self: MutantsTest) -> None:
        before = torch.backends.cuda.matmul.allow_tf32
        torch.backends.cuda.matmul.allow_tf32 = case.allow_tf32
        try:
            self.judge(case)
        finally:
            torch.backends.cuda.matmul.allow_tf32 = before

    return test


for _case in CASES:
    setattr(MutantsTest, f"test_{_case.id}", _test_of(_case))


if __name__ == "__main__":
    unittest.main()
