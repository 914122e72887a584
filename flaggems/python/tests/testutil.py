"""What the tests of the package share."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import unittest
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import flaggems
import torch


@contextlib.contextmanager
def registered(op: str, kernel: Callable[..., Any], key: str = "CPU") -> Iterator[None]:
    """A kernel in Python for "aten::relu", as a library of a user's has it."""
    namespace, _, name = op.partition("::")
    library = torch.library.Library(namespace, "IMPL")
    library.impl(name, kernel, key)
    try:
        yield
    finally:
        library._destroy()


def overload(op: str) -> torch._ops.OpOverload:
    """torch's operator "aten::add.Tensor"."""
    namespace, _, rest = op.partition("::")
    name, _, kind = rest.partition(".")
    return getattr(getattr(getattr(torch.ops, namespace), name), kind or "default")


class PrecisionTestCase(unittest.TestCase):
    """Each test has a log of its own; afterwards nothing is installed."""

    log: Path

    def setUp(self) -> None:
        folder = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        self.log = Path(folder) / "precision.jsonl"
        self.addCleanup(flaggems.disable_precision_check)
        self.addCleanup(flaggems.disable)

    def check(self, **options: Any) -> None:
        """enable_precision_check() with this test's log."""
        options.setdefault("path", self.log)
        options.setdefault("summary_at_exit", False)
        flaggems.enable_precision_check(**options)

    def records(self) -> list[dict[str, Any]]:
        """What the log has now."""
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def summary_of(self, op: str) -> flaggems.OpSummary:
        """The row of "relu"."""
        rows = [row for row in flaggems.summary() if row["op"] == op]
        self.assertEqual(len(rows), 1, f"{op} in {flaggems.summary()}")
        return rows[0]
