"""Single calls: native, and with every call checked."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import checking
import stopwatch
import torch


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    dtype: torch.dtype
    # As the dispatcher has it.
    op: str
    function: Callable[..., torch.Tensor]
    sizes: tuple[tuple[int, ...], ...]


def _softmax(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, dim=-1)


def _add(*size: int) -> Case:
    name = "add (%s)" % ", ".join(map(str, size))
    return Case(name, torch.float32, "aten::add.Tensor", torch.add, (size, size))


def _softmax_case(*size: int) -> Case:
    name = "softmax (%s)" % ", ".join(map(str, size))
    return Case(name, torch.float32, "aten::_softmax", _softmax, (size,))


def _mm(rows: int, inner: int, columns: int, dtype: torch.dtype) -> Case:
    name = f"mm ({rows}, {inner}) x ({inner}, {columns})"
    return Case(name, dtype, "aten::mm", torch.mm, ((rows, inner), (inner, columns)))


def cases(device: str) -> list[Case]:
    if device == "cpu":
        return [_add(2, 3), _softmax_case(8, 10), _mm(4, 8, 8, torch.bfloat16)]
    return [
        _add(2, 3),
        _softmax_case(1024, 1000),
        _mm(1024, 1000, 1000, torch.float32),
        _add(4096, 4096),
        _softmax_case(8192, 8192),
        _mm(4096, 4096, 4096, torch.bfloat16),
    ]


def _row(
    case: Case, device: str, references: tuple[str, ...], seconds: float
) -> dict[str, Any]:
    torch.manual_seed(1)
    inputs = [torch.randn(s, device=device).to(case.dtype) for s in case.sizes]
    call = lambda: case.function(*inputs)
    row: dict[str, Any] = {
        "name": case.name,
        "dtype": str(case.dtype).removeprefix("torch."),
        "native": stopwatch.measure(
            call, lambda: checking.settle(device), seconds=seconds
        ),
    }
    for reference in references:
        with checking.checked(
            [case.op], device, reference, **checking.EVERY_CALL
        ) as check:
            row[reference] = stopwatch.measure(
                call,
                check.settle,
                seconds=seconds,
                slow=seconds if reference == "cpu" else math.inf,
            )
            row[reference].update(check.outcome())
    return row


def run(device: str, references: tuple[str, ...]) -> list[dict[str, Any]]:
    seconds = 0.02 if device == "cpu" else 1.0
    return [_row(case, device, references, seconds) for case in cases(device)]
