"""Kernels that run through the check, and what it says of them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import unittest
from pathlib import Path

import testutil
import torch

import flaggems

# As users of FlagGems know them, with the other module's name.
SAMPLES = {
    "all kernels": """
import flaggems
flaggems.enable_precision_check()                          # step 1
flaggems.enable(registrar=flaggems.PrecisionCheckRegister) # step 2
output = model(input)
""",
    "some kernels": """
import flaggems
flaggems.enable_precision_check(rtol=1e-3, atol=1e-4)
flaggems.only_enable(include=["mm", "add", "softmax"],
                     registrar=flaggems.PrecisionCheckRegister)
output = model(input)
""",
    "no more checks": """
import flaggems
flaggems.enable_precision_check()
flaggems.enable(registrar=flaggems.PrecisionCheckRegister)
flaggems.disable_precision_check()
output = model(input)
""",
    "names of the original": """
from flaggems import *
enable_precision_check()
enable(registrar=PrecisionCheckRegister)
output = model(input)
disable_precision_check()
""",
}


def wrong_relu(x: torch.Tensor) -> torch.Tensor:
    out = torch.clamp_min(x, 0)
    out.view(-1)[-1] = 7
    return out


class SamplesTest(testutil.PrecisionTestCase):
    def setUp(self) -> None:
        super().setUp()
        os.environ["FLAGGEMS_PRECISION_PATH"] = str(self.log)
        os.environ["FLAGGEMS_PRECISION_SUMMARY_AT_EXIT"] = "false"
        self.addCleanup(os.environ.pop, "FLAGGEMS_PRECISION_PATH")
        self.addCleanup(os.environ.pop, "FLAGGEMS_PRECISION_SUMMARY_AT_EXIT")

    def test_samples_run(self) -> None:
        model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Softmax(-1))
        x = torch.randn(2, 8)
        with torch.no_grad():
            want = model(x)
        for name, sample in SAMPLES.items():
            with self.subTest(name):
                variables = {"model": model, "input": x}
                with torch.no_grad():
                    exec(sample, variables)
                torch.testing.assert_close(variables["output"], want)
                self.assertEqual(self.records(), [])
                checked = sum(row["passed"] for row in flaggems.summary())
                if name == "no more checks":
                    self.assertEqual(checked, 0)
                else:
                    self.assertGreater(checked, 0)
                flaggems.disable()

    def test_environment_counts_where_the_call_says_nothing(self) -> None:
        os.environ["FLAGGEMS_PRECISION_PROFILE"] = "strict"
        os.environ["FLAGGEMS_PRECISION_LOG_ONCE"] = "true"
        self.addCleanup(os.environ.pop, "FLAGGEMS_PRECISION_PROFILE")
        self.addCleanup(os.environ.pop, "FLAGGEMS_PRECISION_LOG_ONCE")

        def profile_and_failures() -> tuple[str, int]:
            torch.ones(3).relu()
            torch.ones(3).relu()
            return self.records()[0]["profile"], self.summary_of("relu")["failed"]

        with testutil.registered("aten::relu", wrong_relu):
            with flaggems.observe("relu", device="cpu"):
                flaggems.enable_precision_check()
                self.assertEqual(profile_and_failures(), ("strict", 1))
                flaggems.enable_precision_check(log_once=False)
                self.assertEqual(profile_and_failures(), ("strict", 2))
                flaggems.enable_precision_check(profile="original")
                self.assertEqual(profile_and_failures(), ("original", 1))


class EnableTest(testutil.PrecisionTestCase):
    def test_enable_and_disable(self) -> None:
        ops = flaggems.enable(registrar=flaggems.PrecisionCheckRegister)
        self.assertIn("aten::add.Tensor", ops)
        self.assertEqual(ops, sorted(ops))
        self.check()
        torch.ones(3).add(torch.ones(3))
        self.assertEqual(self.summary_of("add.Tensor")["passed"], 1)
        flaggems.disable()
        self.assertTrue(flaggems.precision_check_enabled())
        torch.ones(3).add(torch.ones(3))
        self.assertEqual(self.summary_of("add.Tensor")["calls"], 1)
        # Everything is free again.
        self.assertEqual(flaggems.enable(), ops)

    def test_plain_kernels_are_not_checked(self) -> None:
        self.check()
        self.assertEqual(flaggems.only_enable("relu"), ["aten::relu"])
        torch.ones(3).relu()
        self.assertEqual(flaggems.summary(), [])

    def test_only_enable(self) -> None:
        ops = flaggems.only_enable(
            ["add.Tensor", "softmax"], registrar=flaggems.PrecisionCheckRegister
        )
        self.assertEqual(ops, ["aten::_softmax", "aten::add.Tensor"])

    def test_check_on_and_off(self) -> None:
        self.assertFalse(flaggems.precision_check_enabled())
        flaggems.disable_precision_check()
        self.check()
        self.assertTrue(flaggems.precision_check_enabled())
        flaggems.disable_precision_check()
        self.assertFalse(flaggems.precision_check_enabled())

    def test_home_in_paths(self) -> None:
        # HOME is the test's own folder.
        flaggems.enable_precision_check(path="~/logs/x.log", summary_at_exit=False)
        self.assertTrue((Path.home() / "logs/x.log").exists())
        flaggems.enable_precision_check(summary_at_exit=False)
        self.assertTrue((Path.home() / ".flaggems/precision.log").exists())


class ObserveTest(testutil.PrecisionTestCase):
    def test_wrong_kernel_is_named_in_log_and_summary(self) -> None:
        with testutil.registered("aten::relu", wrong_relu):
            observation = flaggems.observe(["relu"], device="cpu")
            self.assertEqual(observation.ops, ["aten::relu", "aten::relu.out"])
            self.check(profile="strict")
            x = torch.tensor([[1.0, -2.0, 3.0]])
            self.assertEqual(x.relu()[0, 2], 7)
            observation.remove()
        self.assertEqual(x.relu()[0, 2], 3)
        said = self.summary_of("relu")
        self.assertEqual((said["calls"], said["failed"]), (1, 1))
        self.assertEqual(said["failed_by_reason"], {"value": 1})
        self.assertGreater(said["worst_score"], 1)
        (record,) = self.records()
        self.assertEqual(record["op"], "relu")
        self.assertEqual(record["reason"], "value")
        self.assertEqual(record["worst_index"], [0, 2])
        self.assertEqual((record["got"], record["want"]), ("7", "3"))
        self.assertRegex(flaggems.summary_table(), r"relu +1 +0 +1 ")

    def test_summary_and_log_agree(self) -> None:
        self.check(profile="strict")
        with testutil.registered("aten::relu", wrong_relu):
            with flaggems.observe(device="cpu"):
                for n in range(1, 30):
                    torch.linspace(-1, 1, n).relu().exp().sum()
        flaggems.disable_precision_check()
        logged: dict[str, dict[str, int]] = {}
        for record in self.records():
            reasons = logged.setdefault(record["op"], {})
            reasons[record["reason"]] = reasons.get(record["reason"], 0) + 1
        counted = {
            row["op"]: row["failed_by_reason"]
            for row in flaggems.summary()
            if row["failed"]
        }
        self.assertEqual(logged, counted)
        self.assertEqual(set(counted), {"relu"})
        for row in flaggems.summary():
            by_reason = [row["skipped"], row["errors"], row["untrusted"]]
            self.assertEqual(
                row["calls"],
                row["passed"]
                + row["failed"]
                + sum(sum(counts.values()) for counts in by_reason),
                row,
            )
            self.assertEqual(row["failed"], sum(row["failed_by_reason"].values()))

    def test_text_log_has_the_line_of_the_original(self) -> None:
        log = self.log.with_suffix(".log")
        self.check(path=log)
        with testutil.registered("aten::relu", wrong_relu):
            with flaggems.observe("aten::relu", device="cpu"):
                torch.ones(2, 3).relu()
        self.assertRegex(
            log.read_text(),
            re.escape(
                " [WARNING] Op: relu | FAIL | in: [(2, 3):torch.float32] | "
                "out: (2, 3):torch.float32 | max_abs: 6.000000e+00 | "
                "max_rel: 6.000000e+00 | rtol=0.0001, atol=1e-05"
            )
            + "\n$",
        )

    def test_infinite_score(self) -> None:
        self.check(profile="strict")
        with testutil.registered("aten::relu", lambda x: torch.full_like(x, torch.nan)):
            with flaggems.observe("relu", device="cpu"):
                torch.ones(3).relu()
        self.assertGreater(self.summary_of("relu")["worst_score"], 1)

    def test_kernels_own_exception_passes_through(self) -> None:
        def refuses(x: torch.Tensor) -> torch.Tensor:
            raise ZeroDivisionError("from the kernel")

        self.check(profile="strict")
        with testutil.registered("aten::relu", refuses):
            with flaggems.observe("relu", device="cpu"):
                with self.assertRaisesRegex(ZeroDivisionError, "from the kernel"):
                    torch.ones(3).relu()

    def test_removal(self) -> None:
        self.check()
        observation = flaggems.observe("relu", device=torch.device("cpu"))
        observation.remove()
        observation.remove()
        torch.ones(3).relu()
        self.assertEqual(flaggems.summary(), [])

        with flaggems.observe("relu", device="cpu") as observation:
            torch.ones(3).relu()
        self.assertEqual(self.summary_of("relu")["calls"], 1)
        torch.ones(3).relu()
        self.assertEqual(self.summary_of("relu")["calls"], 1)
        observation.remove()

    def test_disable_removes_observations(self) -> None:
        self.check()
        observation = flaggems.observe(["relu", "aten::neg*"], device="cpu")
        flaggems.disable()
        observation.remove()
        torch.ones(3).relu()
        self.assertEqual(flaggems.summary(), [])

    def test_what_cannot_be_observed(self) -> None:
        observation = flaggems.observe("aten::*", device="cpu")
        self.assertGreater(len(observation.ops), 2000)
        self.assertIn("only calls other op", observation.not_observed["aten::einsum"])
        self.assertFalse(set(observation.ops) & set(observation.not_observed))

    def test_operators_as_objects(self) -> None:
        aten = torch.ops.aten
        for include, want in [
            (aten.mm, ["aten::mm", "aten::mm.out"]),
            (aten.mm.default, ["aten::mm"]),
            ("mm.default", ["aten::mm"]),
            ("aten::mm.default", ["aten::mm"]),
            (aten.add.Tensor, ["aten::add.Tensor"]),
            ([aten.mm.out, "relu.default"], ["aten::mm.out", "aten::relu"]),
            ({aten.mm.out: "a key"}, ["aten::mm.out"]),
        ]:
            with self.subTest(include):
                with flaggems.observe(include, device="cpu") as observation:
                    self.assertEqual(observation.ops, want)
        with flaggems.observe(
            (name for name in ("aten::mm", "relu")),
            exclude=[aten.relu, aten.mm.default],
            device="cpu",
        ) as observation:
            self.assertEqual(observation.ops, ["aten::mm.out"])
        self.assertEqual(flaggems.only_enable(aten.add.Tensor), ["aten::add.Tensor"])
        flaggems.disable()
        self.assertEqual(flaggems.only_enable([aten.relu.default]), ["aten::relu"])

    def test_observed_twice(self) -> None:
        self.check()
        with flaggems.observe("aten::neg", device="cpu"):
            with flaggems.observe("neg", device="cpu"):
                torch.ones(3).neg()
            torch.ones(3).neg()
        torch.ones(3).neg()
        self.assertEqual(self.summary_of("neg")["passed"], 2)

    def test_removed_while_others_call(self) -> None:
        self.check(profile="strict")
        failures: list[BaseException] = []
        done = threading.Event()

        def work() -> None:
            try:
                while not done.is_set():
                    torch.ones(4).neg()
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for _ in range(200):
            flaggems.observe("aten::neg", device="cpu").remove()
        done.set()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_exclude(self) -> None:
        observation = flaggems.observe(
            "aten::neg*", exclude=["aten::neg.out"], device="cpu"
        )
        self.assertIn("aten::neg", observation.ops)
        self.assertNotIn("aten::neg.out", observation.ops)
        self.assertIn(f"{len(observation.ops)} operators", repr(observation))
        # What a caller does to the list is his own.
        observation.ops.clear()
        self.assertIn("aten::neg", observation.ops)

    def test_after_fork(self) -> None:
        self.check(profile="strict")
        with flaggems.observe("aten::neg", device="cpu"):
            torch.ones(3).neg()
            child = os.fork()
            if child == 0:
                torch.ones(3).neg()
                # It counts its own calls.
                os._exit(0 if self.summary_of("neg")["passed"] == 1 else 1)
            _, status = os.waitpid(child, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), 0)
        self.assertEqual(self.summary_of("neg")["passed"], 1)

    def test_table_at_exit(self) -> None:
        script = """
import sys, torch, flaggems
flaggems.enable_precision_check(path=sys.argv[1])
flaggems.observe("aten::neg", device="cpu")
torch.ones(3).neg()
"""
        done = subprocess.run(
            [sys.executable, "-c", script, str(self.log)],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertRegex(done.stderr, r"neg +1 +1 +0 ")


if __name__ == "__main__":
    unittest.main()
