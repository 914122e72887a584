"""The torch-free half: the pool of workers, known rows, the aggregate."""

import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from aggregate import Aggregate, dtype_of  # noqa: E402
from known import read_known  # noqa: E402
from pool import MOST_LOSSES, NoWorker, Pool, read_pairs  # noqa: E402
from table import format_page  # noqa: E402

# Answers as worker.py does. The operator's number says what happens: 1 crashes
# at sample 1, 2 hangs there, 3 crashes at every sample; else all is well.
WORKER = """
import json, os, sys, time
print(json.dumps({"observed": []}), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    for i in range(20):
        if i in request["skip"]:
            continue
        print(json.dumps({"sample": i}), flush=True)
        if request["op"] == 3 or (request["op"] == 1 and i == 1):
            os.abort()
        if request["op"] == 2 and i == 1:
            time.sleep(1000)
    print(json.dumps({"result": {"samples": 20 - len(request["skip"])}}),
          flush=True)
"""


def record(op, status, reason, **fields):
    return dict({"op": op, "status": status, "reason": reason, "inputs": [],
                 "output": "(2,):torch.float32", "output_index": 0,
                 "score": None, "worst_index": None, "message": ""}, **fields)


def summary(op, **fields):
    return dict({"op": op, "calls": 0, "passed": 0, "failed_by_reason": {},
                 "skipped": {}, "errors": {}, "untrusted": {},
                 "worst_score": 0.0}, **fields)


def pair(rows, records, op="entry"):
    return {"op": op, "dtype": "float32", "lost": [], "samples": 1,
            "backward": 1, "refused": {}, "summary": rows, "log": records}


Traits = collections.namedtuple("Traits", "random view")


def traits_of(name):
    return Traits(random=name == "rand", view=name == "view")


class PoolTest(unittest.TestCase):

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.worker = self.folder / "worker.py"
        self.worker.write_text(WORKER)

    def run_pairs(self, pairs):
        Pool(self.folder, "none", 0, 2.0, self.worker).run(pairs, 2)
        return {p["op"]: p for p in read_pairs(self.folder)}

    def test_a_lost_sample_is_left_out_and_named(self):
        got = self.run_pairs([(0, "well", "float32"), (1, "crash", "float32"),
                              (2, "hang", "float32")])
        self.assertEqual(got["well"]["lost"], [])
        self.assertEqual(got["well"]["samples"], 20)
        for name, why in (("crash", "status -6"), ("hang", "no answer")):
            (lost,) = got[name]["lost"]
            self.assertEqual(lost["sample"], 1)
            self.assertIn(why, lost["why"])
            self.assertEqual(got[name]["samples"], 19)

    def test_gives_up_after_some_losses(self):
        got = self.run_pairs([(3, "bad", "float32"), (0, "well", "float32")])
        self.assertEqual(len(got["bad"]["lost"]), MOST_LOSSES)
        self.assertNotIn("samples", got["bad"])
        self.assertIn("samples", got["well"])

    def test_what_is_done_is_not_run_again(self):
        self.run_pairs([(0, "first", "float32")])
        with open(self.folder / "pairs.jsonl", "a") as file:
            file.write('{"op": "torn')  # of a run that was killed
        self.assertEqual(len(list(read_pairs(self.folder))), 1)
        self.worker.write_text("raise SystemExit(1)")
        self.run_pairs([(0, "first", "float32")])

    def test_a_torn_line_does_not_swallow_the_next(self):
        with open(self.folder / "pairs.jsonl", "w") as file:
            file.write('{"op": "torn')
        got = self.run_pairs([(0, "next", "float32")])
        self.assertEqual(list(got), ["next"])


    def test_workers_that_do_not_start_are_one_error(self):
        self.worker.write_text("raise SystemExit(1)")
        with self.assertRaisesRegex(NoWorker, "status 1.*worker.py"):
            self.run_pairs([(0, "a", "float32"), (0, "b", "float32")])
        self.assertEqual(list(read_pairs(self.folder)), [])


class KnownTest(unittest.TestCase):

    def test_the_table_can_be_read(self):
        self.assertGreater(len(read_known()), 5)

    def test_patterns_are_of_whole_names(self):
        (row,) = [r for r in read_known() if r.row["op"] == "grid_sampler_?d"]
        self.assertTrue(row.matches("grid_sampler_2d", "bfloat16", "value", "x"))
        self.assertFalse(
            row.matches("grid_sampler_2d_backward", "bfloat16", "value", "x"))
        self.assertFalse(row.matches("grid_sampler_2d", "float32", "value", "x"))
        self.assertFalse(
            row.matches("grid_sampler_2d", "bfloat16", "special", "x"))

    def test_a_row_needs_a_reason(self):
        with tempfile.NamedTemporaryFile("w", suffix=".tsv") as file:
            file.write("op\tdtype\treason\topinfo\twhy\nmm\t*\t*\t*\t\n")
            file.flush()
            self.assertRaises(ValueError, read_known, file.name)


class AggregateTest(unittest.TestCase):

    def aggregate(self, *pairs):
        result = Aggregate(read_known(), traits_of, "2.11.0")
        for each in pairs:
            result.add(each)
        return result

    def test_counts(self):
        got = self.aggregate(pair([
            summary("add.Tensor", calls=8, passed=6,
                    untrusted={"empty": 2}),
            summary("view", calls=4, passed=4),
            summary("rand", calls=4, untrusted={"reference": 4}),
        ], []))
        self.assertEqual(got.counted(), (8, 6))
        self.assertEqual(set(got.ops), {"add.Tensor", "view", "rand"})
        self.assertEqual(got.judged(), 2)
        self.assertTrue(got.is_clean())
        page = format_page(got)
        self.assertIn("| PASS among them | 6, 75.00 % |", page)
        self.assertIn("| PASS among those with an element | 100.00 % |", page)

    def test_a_failure_is_known_or_not(self):
        row = summary("fmod.Tensor", calls=2, failed_by_reason={"special": 2})
        known = record("fmod.Tensor", "FAIL", "special", score="Infinity",
                       output="(2,):torch.bfloat16")
        new = record("fmod.Tensor", "FAIL", "special", score=2.0)
        self.assertTrue(self.aggregate(pair([row], [known, known])).is_clean())
        got = self.aggregate(pair([row], [known, new]))
        self.assertEqual(got.unexplained(), 1)
        # The example is the unknown one, though the other is worse.
        example = got.ops["fmod.Tensor"].reasons["FAIL special"].example
        self.assertEqual(example["score"], 2.0)

    def test_a_crash_is_not_clean(self):
        lost = {"op": "e", "dtype": "float32",
                "lost": [{"sample": 0, "why": "ended with status -11"}]}
        got = self.aggregate(lost)
        self.assertFalse(got.is_clean())
        self.assertIn("| e | float32 | 0 | ended with status -11 |",
                      format_page(got))

    def test_dtype_is_that_of_the_failing_result(self):
        self.assertEqual(
            dtype_of(record("x", "FAIL", "value", output_index=1,
                            output=["(2,):torch.float32", "(2,):torch.int64"])),
            "int64")
        self.assertEqual(
            dtype_of(record("x", "FAIL", "throw", output="None",
                            inputs=[["(2,):torch.float16"]])), "float16")
        self.assertEqual(
            dtype_of(record("x", "FAIL", "throw", output="None")), "none")


class CommandLineTest(unittest.TestCase):

    def test_a_missing_library_is_one_clear_error(self):
        done = subprocess.run(
            [sys.executable, str(HERE / "opdb.py"), "run", "--folder=x",
             "--library=/nowhere/libflaggems.so"],
            capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("build //flaggems/library:libflaggems.so", done.stderr)


if __name__ == "__main__":
    unittest.main()
