"""A job of two ranks: each has a log of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

# What each rank runs: a data parallel step over gloo, in which the kernel of
# erf is wrong on rank 1.
PROGRAM = """
import sys

import flaggems
import torch
import torch.distributed as dist

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank = dist.get_rank()
library = torch.library.Library("aten", "IMPL")
if rank == 1:
    library.impl("erf", lambda x: torch.full_like(x, 0.25), "CPU")
flaggems.enable_precision_check(
    profile="strict", path=sys.argv[1], log_once=False, summary_at_exit=False
)
flaggems.observe(device="cpu")
torch.manual_seed(5)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 3))
loss = model(torch.randn(2, 4)).erf().square().sum()
loss.backward()
dist.barrier()
failed = {row["op"]: row["failed"] for row in flaggems.summary() if row["failed"]}
checked = sum(row["passed"] for row in flaggems.summary())
print(f"rank {rank}: checked {checked > 0} failed {failed}", flush=True)
flaggems.disable_precision_check()
dist.destroy_process_group()
"""


class TorchrunTest(unittest.TestCase):
    def test_each_rank_writes_its_own_log(self) -> None:
        folder = Path(tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR")))
        program = folder / "program.py"
        program.write_text(PROGRAM)
        result = subprocess.run(
            [
                sys.executable,
                "-m",
                "torch.distributed.run",
                "--standalone",
                "--nproc-per-node=2",
                str(program),
                str(folder / "precision.jsonl"),
            ],
            capture_output=True,
            text=True,
            timeout=240,
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("rank 0: checked True failed {}", result.stdout)
        self.assertIn("rank 1: checked True failed {'erf': 1}", result.stdout)
        self.assertFalse((folder / "precision.jsonl").exists())
        self.assertEqual((folder / "precision.rank0.jsonl").read_text(), "")
        lines = (folder / "precision.rank1.jsonl").read_text().splitlines()
        self.assertEqual(len(lines), 1)
        record = json.loads(lines[0])
        self.assertEqual((record["op"], record["status"], record["rank"]), ("erf", "FAIL", 1))


if __name__ == "__main__":
    sys.exit(unittest.main())
