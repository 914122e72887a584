"""Device memory that checks take beside the program's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import checking
import part_llama
import torch

_MIB = 2**20


def _outside() -> int:
    """Bytes of the device in use that torch's allocator does not hold."""
    free, total = torch.cuda.mem_get_info()
    return total - free - torch.cuda.memory_reserved()


def _peak(call: Callable[[], Any], settle: Callable[[], Any]) -> int:
    settle()
    torch.cuda.reset_peak_memory_stats()
    for _ in range(3):
        call()
    settle()
    return torch.cuda.max_memory_allocated()


def _row(
    name: str, op: str, call: Callable[[], Any], device: str, memory_mb: int
) -> dict[str, Any]:
    plain = _peak(call, torch.cuda.synchronize)
    outside = _outside()
    with checking.checked(
        [op], device, "device", memory_mb=memory_mb, **checking.EVERY_CALL
    ) as check:
        peak = _peak(call, check.settle)
        grown = _outside() - outside
        outcome = check.outcome()
    torch.cuda.empty_cache()
    return {
        "name": name,
        "memory_mb": memory_mb,
        "native_mb": plain / _MIB,
        "extra_mb": (peak - plain) / _MIB,
        # Modules and workspaces of libraries that the first check loads are in it.
        "outside_mb": grown / _MIB,
        **outcome,
    }


def run(device: str, references: tuple[str, ...]) -> list[dict[str, Any]]:
    """Empty on the CPU, whose memory torch does not count."""
    if device == "cpu" or "device" not in references:
        return []
    rows = []
    x = torch.randn(2**28, device=device).view(16384, 16384)
    for memory_mb in (256, 1024, 4096):
        rows.append(
            _row(
                "relu of 1 GiB, float32",
                "aten::relu",
                lambda: torch.relu(x),
                device,
                memory_mb,
            )
        )
    del x
    torch.cuda.empty_cache()
    step = part_llama.forward(device)
    for memory_mb in (256, 4096):
        rows.append(_row("Llama", "aten::*", step, device, memory_mb))
    return rows
