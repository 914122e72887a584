"""The benchmark's own arithmetic, and all of it once, tiny, on the CPU."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import os
import sys
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

import checking
import flaggems
import llama
import part_mutants
import performance
import performance_doc
import stopwatch
import torch


class StopwatchTest(unittest.TestCase):
    def setUp(self) -> None:
        self.now = 0.0
        self.calls = 0
        clock = mock.patch("stopwatch.time.perf_counter", lambda: self.now)
        clock.start()
        self.addCleanup(clock.stop)

    def _call(self, first: float, later: float) -> None:
        self.now += later if self.calls else first
        self.calls += 1

    def _settle(self, takes: float) -> None:
        self.now += takes

    def _measure(self, first: float, later: float, settle: float, **limits: float):
        return stopwatch.measure(
            lambda: self._call(first, later), lambda: self._settle(settle), **limits
        )

    def test_rounds_of_small_calls(self) -> None:
        # The first call, which is slow, is not in it; the settling is, once a round.
        found = self._measure(3.0, 2**-10, 2**-8, seconds=5.0)
        self.assertGreater(found["calls"], 100)
        self.assertEqual(found["rounds"], 5)
        self.assertFalse(found["cold"])
        self.assertAlmostEqual(found["us_return"], 2**-10 * 1e6)
        self.assertAlmostEqual(
            found["us"], (2**-10 + 2**-8 / found["calls"]) * 1e6, places=3
        )

    def test_bounded_number_of_calls(self) -> None:
        self.assertEqual(self._measure(1e-9, 1e-9, 0, seconds=5.0)["calls"], 2000)

    def test_calls_too_long_for_rounds(self) -> None:
        found = self._measure(9.0, 2.0, 0.5, seconds=5.0)
        self.assertEqual((found["calls"], found["rounds"]), (1, 3))
        self.assertEqual((found["us"], found["us_return"]), (2.5e6, 2e6))

    def test_a_slow_first_call_is_the_only_one(self) -> None:
        found = self._measure(2.0, 1.0, 0.5, seconds=5.0, slow=2.0)
        self.assertEqual(self.calls, 1)
        self.assertEqual((found["us"], found["cold"]), (2.5e6, True))


class AlternateTest(unittest.TestCase):
    def test_by_turns(self) -> None:
        order = []
        plain = iter([1.0, 3.0, 5.0])
        other = iter([4.0, 8.0])

        def run(name: str, times: Any) -> float:
            order.append(name)
            return next(times)

        pairs = stopwatch.alternate(
            lambda: run("plain", plain), lambda: run("other", other), 2
        )
        self.assertEqual(order, ["plain", "other", "plain", "other", "plain"])
        # Slower by the same amount each time: twice as slow all the same.
        self.assertEqual(pairs, [(2.0, 4.0), (4.0, 8.0)])


def op_summary(op: str, **counts: Any) -> flaggems.OpSummary:
    row = {
        "op": op,
        "calls": 0,
        "passed": 0,
        "failed": 0,
        "failed_by_reason": {},
        "skipped": {},
        "errors": {},
        "untrusted": {},
        "worst_score": 0.0,
    }
    row.update(counts)
    return row


class VerdictsTest(unittest.TestCase):
    ROWS = [
        op_summary("a", calls=5, passed=2, skipped={"throttle": 3}),
        op_summary("b", calls=2, failed=2, failed_by_reason={"value": 2}),
        op_summary("c", calls=3, skipped={"throttle": 1}, errors={"reference": 2}),
    ]

    def test_each_call_is_counted(self) -> None:
        self.assertEqual(checking.verdicts([]), {"calls": 0, "PASS": 0})
        self.assertEqual(
            checking.verdicts(self.ROWS),
            {
                "calls": 10,
                "PASS": 2,
                "SKIP(throttle)": 4,
                "FAIL(value)": 2,
                "ERROR(reference)": 2,
            },
        )

    def test_judged(self) -> None:
        self.assertEqual(checking.judged(self.ROWS), {"a", "b"})


class LlamaTest(unittest.TestCase):
    def test_shape_and_causality(self) -> None:
        model, ids = llama.model_and_ids(llama.TINY, "cpu")
        model = model.float()
        other = ids.clone()
        other[:, 5] = (other[:, 5] + 1) % llama.TINY.vocabulary
        with torch.no_grad():
            a, b = model(ids), model(other)
        self.assertEqual(tuple(a.shape), (2, 8, 100))
        self.assertTrue(a.isfinite().all())
        torch.testing.assert_close(a[:, :5], b[:, :5])
        self.assertFalse(torch.allclose(a[:, 7], b[:, 7]))

    def test_tokens_have_an_order(self) -> None:
        model, ids = llama.model_and_ids(llama.TINY, "cpu")
        other = ids[:, [1, 0, 2, 3, 4, 5, 6, 7]]
        with torch.no_grad():
            self.assertFalse(torch.equal(model(ids)[:, 7], model(other)[:, 7]))


class ComplaintTest(unittest.TestCase):
    def test_each_way_to_be_wrong(self) -> None:
        mutant = part_mutants.mutants()[4]
        self.assertEqual(mutant.index, (7, -1))
        good = {
            "status": "FAIL",
            "reason": "value",
            "call": 3,
            "worst_index": [7, 40],
        }
        found = {"calls": 5, "PASS": 4, "FAIL(value)": 1}
        cases = [
            ("", [good], found),
            ("verdicts", [], {"calls": 5, "PASS": 5}),
            ("verdicts", [good], {"calls": 5, "PASS": 3, "SKIP(size)": 1}),
            ("0 records", [], found),
            ("call 4", [dict(good, call=4)], found),
            ("element [8, 40]", [dict(good, worst_index=[8, 40])], found),
            ("element []", [dict(good, worst_index=None)], found),
            ("FAIL(special)", [dict(good, reason="special")], found),
        ]
        for want, records, verdicts in cases:
            with self.subTest(want):
                got = part_mutants.complaint(mutant, records, verdicts)
                self.assertTrue(got.startswith(want) and bool(got) == bool(want), got)

    def test_a_right_kernel_that_is_reported(self) -> None:
        right = part_mutants.mutants()[-1]
        self.assertIsNone(right.spoil)
        self.assertEqual(part_mutants.complaint(right, [], {"calls": 5, "PASS": 5}), "")
        reported = {"calls": 5, "PASS": 4, "FAIL(value)": 1}
        self.assertIn("FAIL", part_mutants.complaint(right, [], reported))


class CommandLineTest(unittest.TestCase):
    def test_refused(self) -> None:
        for argv in (["--only=calls,cals"], ["--references=gpu"], ["--device=tpu"]):
            with self.subTest(argv), contextlib.redirect_stderr(io.StringIO()):
                with self.assertRaises(SystemExit) as stopped:
                    performance.main(argv)
                self.assertEqual(stopped.exception.code, 2)

    def test_without_a_device(self) -> None:
        error = io.StringIO()
        with mock.patch("torch.cuda.is_available", lambda: False):
            with contextlib.redirect_stderr(error):
                self.assertEqual(performance.main([]), 2)
        self.assertIn("no CUDA device", error.getvalue())

    def test_parts_run_in_their_own_order(self) -> None:
        self.assertEqual(
            performance.arguments(["--only=llama,calls"]).only, ("calls", "llama")
        )


def has_time_fraction() -> bool:
    with contextlib.suppress(flaggems.errors.UnknownOptionError):
        with checking.checked(["aten::relu"], "cpu", "cpu", time_fraction=0.5):
            return True
    return False


class AllOfItTest(unittest.TestCase):
    """One run of everything, and the page made of it."""

    document: dict[str, Any]

    @classmethod
    def setUpClass(cls) -> None:
        cls.share = has_time_fraction()
        parts = [p for p in performance.PARTS if cls.share or p != "time_fraction"]
        out = os.path.join(os.environ.get("TEST_TMPDIR", "/tmp"), "performance.json")
        with contextlib.redirect_stderr(io.StringIO()) as error:
            cls.code = performance.main(
                ["--device=cpu", f"--out={out}", "--only=" + ",".join(parts)]
            )
        cls.error = error.getvalue()
        cls.document = json.loads(Path(out).read_text())

    def _whole(self) -> dict[str, Any]:
        whole = copy.deepcopy(self.document)
        if not self.share:
            whole["parts"]["time_fraction"] = {
                "result": {
                    "fraction": 0.05,
                    "forwards": 100,
                    "blocks": 10,
                    "operators": 30,
                    "covered": 29,
                    "native_ms": 6.0,
                    "ms": 9.0,
                    "ratio": 1.5,
                    "not_covered": ["mm"],
                    "verdicts": {"calls": 9, "PASS": 8, "SKIP(budget)": 1},
                }
            }
        return whole

    def test_nothing_is_wrong(self) -> None:
        self.assertEqual(self.code, 0, self.error)

    def test_every_call_was_checked(self) -> None:
        parts = self.document["parts"]
        runs = [row["cpu"] for row in parts["calls"]["result"]]
        runs.append(parts["llama"]["result"]["cpu"])
        for run in runs:
            self.assertGreater(run["verdicts"]["calls"], 0)
            self.assertEqual(run["verdicts"]["calls"], run["verdicts"]["PASS"])

    def test_a_share_of_the_time_covers_operators(self) -> None:
        if not self.share:
            self.skipTest("there is no option time_fraction")
        result = self.document["parts"]["time_fraction"]["result"]
        self.assertGreater(result["operators"], 10)
        self.assertGreater(result["covered"], 0)
        self.assertEqual(len(result["ratios"]), result["blocks"])
        self.assertGreater(result["verdicts"]["PASS"], 0)

    def test_rows_name_the_native_time_that_they_are_compared_with(self) -> None:
        whole = self._whole()
        parts = {name: part["result"] for name, part in whole["parts"].items()}
        parts["time_fraction"].update(ms=12.5, native_ms=12.25, ratio=1.0204)
        parts["idle"].update(ms=7.25, native_ms=7.0, ratio=1.0357)
        text = performance_doc.document(whole)
        self.assertIn(" forwards | 12.5 | 12.2 | 1.020 | 1.06 |", text)
        self.assertIn("| observed, no check enabled | 7.25 | 7.00 | 1.036 | 1.02 |", text)

    def test_the_page(self) -> None:
        page = Path("docs/performance.md").read_text()
        once = performance_doc.in_page(page, performance_doc.document(self._whole()))
        self.assertIn("| add (2, 3) | float32 |", once)
        self.assertIn("relu, one element one bfloat16 step off", once)
        head = page.partition("<!-- results -->")[0]
        self.assertTrue(once.startswith(head))
        self.assertEqual(
            performance_doc.in_page(once, "x"), performance_doc.in_page(page, "x")
        )
        # Each row has the columns of its head.
        for block in once.split("\n\n"):
            lines = [line for line in block.splitlines() if line.startswith("|")]
            self.assertLessEqual(len({line.count("|") for line in lines}), 1, block)

    def test_goals_that_are_missed(self) -> None:
        whole = self._whole()
        row = whole["parts"]["calls"]["result"][0]
        row["device"] = copy.deepcopy(row["cpu"])
        row["device"]["us"] = 61.0
        row["device"]["verdicts"] = {"calls": 9, "PASS": 8, "SKIP(budget)": 1}
        whole["parts"]["mutants"]["result"][0]["problem"] = "0 records"
        text = performance_doc.document(whole)
        for line in (
            "- add (2, 3): 61.0 us, goal 60",
            "- add (2, 3), reference=device: 8 of 9 calls PASS",
            "- relu, one element one bfloat16 step off: 0 records",
        ):
            self.assertIn(line, text)

    def test_costs_by_part(self) -> None:
        whole = self._whole()
        self.assertNotIn("Cost by part", performance_doc.document(whole))
        run = whole["parts"]["calls"]["result"][0]["cpu"]
        run["verdicts"] = {"calls": 10, "PASS": 10}
        run["costs"] = {"snapshot": 10_000, "compare": 25_000}
        text = performance_doc.document(whole)
        self.assertIn("| add (2, 3), cpu | 1.00 | 2.50 |", text)

    def test_a_page_of_no_numbers_is_refused(self) -> None:
        whole = self._whole()
        del whole["parts"]["idle"]
        with self.assertRaisesRegex(SystemExit, "idle: was not run"):
            performance_doc.document(whole)
        whole["parts"]["idle"] = {"error": "RuntimeError: no"}
        with self.assertRaisesRegex(SystemExit, "RuntimeError: no"):
            performance_doc.document(whole)

    def test_results_of_two_runs(self) -> None:
        a, b = self._whole(), self._whole()
        del a["parts"]["idle"]
        b["parts"] = {"idle": b["parts"]["idle"]}
        performance_doc.document(performance_doc.merged([a, b]))
        b["machine"]["device"] = "another"
        with self.assertRaisesRegex(SystemExit, "different devices"):
            performance_doc.merged([a, b])

    def test_device_comparator(self) -> None:
        row = {
            "dtype": "torch.bfloat16",
            "mb": 64,
            "layout": "contiguous",
            "conditions": True,
            "us": 123.4,
            "gb_per_s": 3456.0,
            "copy_gb_per_s": 4000.0,
            "percent": 86.4,
        }
        rows = [
            row,
            dict(row, percent=79.9, conditions=False),
            dict(row, percent=9.0, layout="transposed"),
            dict(row, percent=9.0, mb=16),
            dict(row, mb=1, problem="reports element 3, wrong is 5"),
            {key: row[key] for key in ("dtype", "mb", "layout", "conditions")},
        ]
        rows[-1]["skipped"] = "too little device memory"
        whole = self._whole()
        self.assertNotIn("Device comparator", performance_doc.document(whole))
        other = {
            "machine": {"date": "2026-11-30", "device": whole["machine"]["device"]},
            "parts": {"device_comparator": {"result": rows}},
        }
        for order in ([whole, other], [other, whole]):
            text = performance_doc.document(performance_doc.merged(order))
            self.assertIn(
                "| bfloat16, 64 MiB, contiguous, conditions | 123 | 3,456 | 4,000 "
                "| 86.4 | 80 |  |",
                text,
            )
            self.assertIn("|  |  |  |  | 80 | too little device memory |", text)
            missed = [
                line
                for line in text.splitlines()
                if line.startswith("- device comparator")
            ]
            self.assertEqual(
                missed,
                [
                    "- device comparator, bfloat16, 64 MiB, contiguous: "
                    "79.9 % of a copy, goal 80",
                    "- device comparator, bfloat16, 1 MiB, contiguous, conditions: "
                    "reports element 3, wrong is 5",
                ],
            )

    def test_a_part_that_fails_is_a_problem(self) -> None:
        self.assertEqual(performance.problems(self.document), [])
        broken = {"parts": {"calls": {"error": "RuntimeError: no"}}}
        self.assertEqual(performance.problems(broken), ["calls: RuntimeError: no"])


if __name__ == "__main__":
    sys.exit(unittest.main())
