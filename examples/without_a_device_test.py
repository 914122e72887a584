"""The examples where torch sees no CUDA device, as on a machine without one."""

import os
import subprocess
import sys
import unittest
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent


class WithoutADeviceTest(unittest.TestCase):
    def test_one_line_and_exit_code_2(self) -> None:
        for script in ("minilm.py", "observe_minilm.py"):
            with self.subTest(script):
                done = subprocess.run(
                    [sys.executable, EXAMPLES / script, "--device=cuda"],
                    env=dict(os.environ, CUDA_VISIBLE_DEVICES=""),
                    capture_output=True,
                    text=True,
                    check=False,
                )
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertEqual(
                    done.stderr,
                    f"{script}: --device=cuda: torch sees no CUDA device\n",
                )
                self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    sys.exit(unittest.main())
