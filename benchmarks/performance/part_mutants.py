"""Wrong kernels that must be reported, with the call and the element, so that
fast checks are known to be checks; and right ones that must not."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable
from typing import Any, Optional

import checking
import torch

Tensor = torch.Tensor

_CALLS = 5
# The one call that a wrong kernel computes wrong, counted from 1.
_WRONG_CALL = 3


@dataclasses.dataclass(frozen=True)
class Mutant:
    name: str
    op: str
    call: Callable[..., Tensor]
    # Computes the operator without it.
    right: Callable[..., Tensor]
    # Makes a right result wrong, or returns a wrong one; None: stays right.
    spoil: Optional[Callable[[Tensor], Tensor]]
    # Reason and element of the failure; -1 stands for any index.
    reason: str
    index: tuple[int, ...]
    dtype: torch.dtype
    sizes: tuple[tuple[int, ...], ...]


def _one_step_up(x: Tensor) -> Tensor:
    # The next larger bfloat16 in magnitude.
    x.view(torch.int16)[5, 777] += 1
    return x


def _set(index: tuple[int, ...], value: float) -> Callable[[Tensor], Tensor]:
    def spoil(x: Tensor) -> Tensor:
        x[index] = value
        return x

    return spoil


def _scaled(index: tuple[int, ...], by: float) -> Callable[[Tensor], Tensor]:
    def spoil(x: Tensor) -> Tensor:
        x[index] *= by
        return x

    return spoil


def _added(index: tuple[int, ...], what: float) -> Callable[[Tensor], Tensor]:
    def spoil(x: Tensor) -> Tensor:
        x[index] += what
        return x

    return spoil


def _unwritten_tail(x: Tensor) -> Tensor:
    out = torch.empty_like(x)
    out.view(-1)[:-1] = x.view(-1)[:-1]
    return out


def _relu(x: Tensor) -> Tensor:
    return torch.clamp_min(x, 0)


def _add(x: Tensor, y: Tensor, *, alpha: float = 1) -> Tensor:
    return torch.sub(x, y, alpha=-alpha)


def _mm(a: Tensor, b: Tensor) -> Tensor:
    return torch.bmm(a[None], b[None])[0]


def _exp2(x: Tensor) -> Tensor:
    return torch.exp(x.double() * math.log(2)).to(x.dtype)


def _softmax(x: Tensor, dim: int, half_to_float: bool) -> Tensor:
    wide = x.float()
    powers = torch.exp(wide - wide.amax(dim, keepdim=True))
    return (powers / powers.sum(dim, keepdim=True)).to(x.dtype)


def _call_softmax(x: Tensor) -> Tensor:
    return torch.softmax(x, dim=-1)


def mutants() -> list[Mutant]:
    f32, bf16 = torch.float32, torch.bfloat16
    matrix = (64, 1024)
    product = ((96, 1000), (1000, 80))
    M = Mutant
    relu = ("aten::relu", torch.relu, _relu)
    add = ("aten::add.Tensor", torch.add, _add)
    mm = ("aten::mm", torch.mm, _mm)
    softmax = ("aten::_softmax", _call_softmax, _softmax)
    exp2 = ("aten::exp2", torch.exp2, _exp2)
    tail = (63, 1023)
    return [
        M("relu, one element one bfloat16 step off", *relu, _one_step_up,
          "value", (5, 777), bf16, (matrix,)),
        M("add without its last element", *add, _set((-1, -1), 0.0),
          "value", tail, f32, (matrix, matrix)),
        M("mm, one element 0.1 off", *mm, _added((3, 5), 0.1),
          "value", (3, 5), f32, product),
        M("mm, one element 2 % off", *mm, _added((95, 79), 20.0),
          "value", (95, 79), bf16, product),
        M("softmax, one row 1e-4 too large", *softmax, _scaled((7,), 1.0001),
          "value", (7, -1), f32, (matrix,)),
        M("softmax, one NaN", *softmax, _set((40, 2), float("nan")),
          "special", (40, 2), bf16, (matrix,)),
        M("exp2, last element not written", *exp2, _unwritten_tail,
          "value", tail, f32, (matrix,)),
        M("relu, right", *relu, None, "", (), bf16, (matrix,)),
        M("add, right", *add, None, "", (), f32, (matrix, matrix)),
        M("mm, right", *mm, None, "", (), f32, product),
        M("mm, right", *mm, None, "", (), bf16, product),
        M("softmax, right", *softmax, None, "", (), f32, (matrix,)),
    ]  # fmt: skip


def complaint(
    mutant: Mutant, records: list[dict[str, Any]], found: dict[str, int]
) -> str:
    """What is wrong with the verdicts on a mutant; "" if nothing is."""
    wrong_calls = 1 if mutant.spoil else 0
    if found["calls"] != _CALLS or found["PASS"] != _CALLS - wrong_calls:
        return f"verdicts {found}"
    if len(records) != wrong_calls:
        return f"{len(records)} records"
    for record in records:
        index = record["worst_index"] or []
        where = len(index) == len(mutant.index) and all(
            want in (-1, got) for want, got in zip(mutant.index, index)
        )
        if record["status"] != "FAIL" or record["reason"] != mutant.reason:
            return f"{record['status']}({record['reason']})"
        if record["call"] != _WRONG_CALL:
            return f"call {record['call']} in place of {_WRONG_CALL}"
        if not where:
            return f"element {index} in place of {list(mutant.index)}"
    return ""


def _row(mutant: Mutant, device: str, reference: str) -> dict[str, Any]:
    torch.manual_seed(3)
    # Above 0.5, so that no element of relu is zero.
    inputs = [
        (torch.rand(s, device=device) + 0.5).to(mutant.dtype) for s in mutant.sizes
    ]
    numbers = itertools.count(1)

    def kernel(*args: Any, **kwargs: Any) -> Tensor:
        out = mutant.right(*args, **kwargs)
        if mutant.spoil and next(numbers) == _WRONG_CALL:
            out = mutant.spoil(out)
        return out

    # An own instance, so that its end takes the kernel back.
    library = torch.library.Library("aten", "IMPL")
    library.impl(mutant.op, kernel, device.upper())
    try:
        with checking.checked(
            [mutant.op], device, reference, **checking.EVERY_CALL
        ) as check:
            for _ in range(_CALLS):
                mutant.call(*inputs)
            found = check.outcome()["verdicts"]
            # A failure may be confirmed by another reference, which is in it.
            records = check.records()
    finally:
        library._destroy()
    return {
        "name": mutant.name,
        "dtype": str(mutant.dtype).removeprefix("torch."),
        "reference": reference,
        "wrong": mutant.spoil is not None,
        "verdicts": found,
        "records": records,
        "problem": complaint(mutant, records, found),
    }


def run(device: str, references: tuple[str, ...]) -> list[dict[str, Any]]:
    return [_row(m, device, references[0]) for m in mutants()]
