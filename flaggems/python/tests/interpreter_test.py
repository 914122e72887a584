"""Observed kernels in a real program: threads, autograd, modes, tracing, fork,
signals, and kernels that raise or let go of the interpreter's lock."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import unittest
import warnings
from concurrent.futures import ThreadPoolExecutor

import testutil
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import flaggems


def wrong_erf(x: torch.Tensor) -> torch.Tensor:
    return torch.full_like(x, 0.25)


class PassThroughTest(testutil.PrecisionTestCase):
    """What happens above the kernels is none of the check's business."""

    def setUp(self) -> None:
        super().setUp()
        self.check(profile="strict", max_checks=1_000_000)

    def checked(self) -> int:
        """Calls that were judged; none of them may have failed."""
        rows = flaggems.summary()
        self.assertEqual([row for row in rows if row["failed"] or row["errors"]], [])
        return sum(row["passed"] for row in rows)

    def same(self, compute) -> None:
        """compute() gives the same bits with all of torch observed, and real
        kernels are checked."""
        torch.manual_seed(3)
        want = compute()
        flaggems.observe(device="cpu")
        self.check(profile="strict", max_checks=1_000_000)
        torch.manual_seed(3)
        got = compute()
        flaggems.disable()
        self.assertGreater(self.checked(), 0)
        self.assertEqual(len(want), len(got))
        for a, b in zip(want, got):
            self.assertTrue(torch.equal(a, b), f"{a} {b}")
            self.assertEqual(a.requires_grad, b.requires_grad)

    def test_requires_grad_and_backward(self) -> None:
        def compute():
            x = torch.randn(4, 5, requires_grad=True)
            w = torch.randn(5, 3, requires_grad=True)
            y = torch.nn.functional.gelu(x @ w).softmax(-1)
            y.square().sum().backward()
            return [y, x.grad, w.grad]

        self.same(compute)

    def test_double_backward(self) -> None:
        def compute():
            x = torch.randn(6, requires_grad=True)
            (g,) = torch.autograd.grad(x.tanh().sum(), x, create_graph=True)
            g.square().sum().backward()
            return [g.detach(), x.grad]

        self.same(compute)

    def test_checkpoint(self) -> None:
        def compute():
            x = torch.randn(6, requires_grad=True)
            y = torch.utils.checkpoint.checkpoint(
                lambda x: x.sin().exp(), x, use_reentrant=False
            )
            y.sum().backward()
            return [x.grad]

        self.same(compute)

    def test_no_grad_and_inference_mode(self) -> None:
        def compute():
            x = torch.randn(4, requires_grad=True)
            with torch.no_grad():
                y = x.exp()
            with torch.inference_mode():
                z = x.exp()
                z.add_(1)
                assert z.is_inference()
            return [y, z.clone()]

        self.same(compute)

    def test_autocast(self) -> None:
        def compute():
            x = torch.randn(4, 5)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                y = x @ x.t()
            assert y.dtype == torch.bfloat16
            return [y]

        self.same(compute)

    def test_functorch(self) -> None:
        def compute():
            x = torch.randn(3, 4)
            w = torch.randn(4)

            def f(x):
                return (x * w).sin().sum()

            return [
                torch.func.vmap(f)(x),
                torch.func.grad(f)(x[0]),
                torch.func.vmap(torch.func.grad(f))(x),
                torch.func.jvp(f, (x[0],), (w,))[1],
                torch.func.hessian(f)(x[0]),
                torch.func.functionalize(lambda x: x.clone().add_(1))(x),
            ]

        self.same(compute)

    def test_torch_dispatch_mode(self) -> None:
        class Count(torch.utils._python_dispatch.TorchDispatchMode):
            calls = 0

            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                Count.calls += 1
                return func(*args, **(kwargs or {}))

        def compute():
            Count.calls = 0
            with Count():
                y = torch.ones(3).exp()
            return [y, torch.tensor(Count.calls)]

        self.same(compute)

    def test_fake_tensors_are_not_checked(self) -> None:
        flaggems.observe(device="cpu")
        with FakeTensorMode():
            x = torch.randn(3, 4)
            y = (x @ x.t()).softmax(-1)
        self.assertEqual(tuple(y.shape), (3, 3))
        self.assertEqual(
            [row for row in flaggems.summary() if row["op"] in ("mm", "_softmax")], []
        )
        self.checked()

    def test_compile_traces_and_then_real_kernels_are_checked(self) -> None:
        x = torch.randn(4, 4)

        def f(x):
            return (x @ x).relu() + 1

        want = f(x)
        flaggems.observe(device="cpu")
        compiled = torch.compile(f, backend="aot_eager")
        self.assertTrue(torch.equal(compiled(x), want))
        self.assertEqual(self.summary_of("mm")["passed"], 1)
        self.checked()

    def test_export_and_script(self) -> None:
        flaggems.observe(device="cpu")
        x = torch.randn(4, 4)

        class Model(torch.nn.Module):
            def forward(self, x):
                return torch.tanh(x @ x)

        model = Model()
        want = model(x)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scripted = torch.jit.trace(model, x)
        exported = torch.export.export(model, (x,))
        self.assertTrue(torch.equal(scripted(x), want))
        self.assertTrue(torch.equal(exported.module()(x), want))
        self.checked()

    def test_deterministic_algorithms(self) -> None:
        torch.use_deterministic_algorithms(True)
        self.addCleanup(torch.use_deterministic_algorithms, False)
        self.same(lambda: [torch.ones(4).index_add(0, torch.tensor([0, 0]), torch.ones(2))])


class UnusualTensorsTest(testutil.PrecisionTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.check(profile="strict", max_checks=1_000_000, log_once=False)
        flaggems.observe(device="cpu")

    def complaints(self) -> list:
        return [r for r in flaggems.summary() if r["failed"] or r["errors"]]

    def test_far_more_elements_than_memory(self) -> None:
        x = torch.ones(1).expand(1 << 40)
        x[5]
        self.assertEqual(self.summary_of("expand")["skipped"], {"size": 1})
        self.assertEqual(self.complaints(), [])

    def test_results_of_other_layouts(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.nested.nested_tensor([torch.randn(2, 4), torch.randn(3, 4)])
            torch.eye(4).to_sparse_bsr((2, 2))
            torch.randn(3, 4, names=("N", "C"))
        torch.randn(2, 3, 8, 8).to_mkldnn()
        self.assertEqual(self.complaints(), [])
        self.assertEqual(self.summary_of("to_mkldnn")["skipped"], {"unsupported": 1})

    def test_training_of_an_lstm(self) -> None:
        for on_failure in ("log", "substitute"):
            self.check(profile="strict", max_checks=1_000_000, on_failure=on_failure)
            model = torch.nn.LSTM(4, 5, num_layers=2, bidirectional=True)
            model(torch.randn(3, 2, 4))[0].sum().backward()
            self.assertEqual(self.complaints(), [])
            self.assertEqual(self.summary_of("mkldnn_rnn_layer")["calls"], 4)

    def test_substitution_keeps_what_only_the_kernel_has(self) -> None:
        """The workspace that its own backward pass reads."""
        flaggems.disable()
        native = torch.library.get_kernel("aten::mkldnn_rnn_layer", "CPU")
        keys = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)

        def wrong(*args, **kwargs):
            y, h, c, workspace = native.call_boxed(keys, *args, **kwargs)
            return y + 1, h, c, workspace

        self.check(profile="strict", on_failure="substitute")
        with testutil.registered("aten::mkldnn_rnn_layer", wrong):
            flaggems.observe("aten::mkldnn_rnn_layer", device="cpu")
            model = torch.nn.LSTM(4, 5)
            model(torch.randn(3, 2, 4))[0].sum().backward()
            flaggems.disable()
        self.assertEqual(self.summary_of("mkldnn_rnn_layer")["failed"], 1)
        self.assertGreater(float(model.weight_ih_l0.grad.abs().sum()), 0)


class ThreadsTest(testutil.PrecisionTestCase):
    def test_many_threads(self) -> None:
        self.check(profile="strict", max_checks=1_000_000)
        flaggems.observe(device="cpu")

        def work(seed: int) -> float:
            g = torch.Generator().manual_seed(seed)
            x = torch.randn(8, 8, generator=g, requires_grad=True)
            (x @ x).softmax(-1).square().sum().backward()
            return float(x.grad.sum())

        with ThreadPoolExecutor(8) as pool:
            got = list(pool.map(work, [s % 4 for s in range(64)]))
        self.assertEqual(got[:4] * 16, got)
        rows = flaggems.summary()
        self.assertEqual([r for r in rows if r["failed"] or r["errors"]], [])
        self.assertGreaterEqual(self.summary_of("mm")["calls"], 64)

    def test_kernels_in_python_on_many_threads(self) -> None:
        """No lock of ours is held while a kernel waits for the interpreter's."""
        inside = threading.Barrier(2, timeout=60)

        def meeting(x: torch.Tensor) -> torch.Tensor:
            inside.wait()  # lets go of the interpreter's lock
            return torch.full_like(x, 0.25)

        self.check(profile="strict", log_once=False)
        with testutil.registered("aten::erf", meeting):
            flaggems.observe("aten::erf", device="cpu")
            with ThreadPoolExecutor(2) as pool:
                list(pool.map(lambda _: torch.erf(torch.ones(3)), range(8)))
            flaggems.disable()
        self.assertEqual(self.summary_of("erf")["failed"], 8)
        self.assertEqual(len(self.records()), 8)

    def test_removal_while_threads_call(self) -> None:
        self.check(profile="strict")
        stop = threading.Event()
        wrong = []

        def work() -> None:
            x = torch.ones(3)
            while not stop.is_set():
                if torch.exp(x)[0] < 2.7:
                    wrong.append(1)

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(200):
                flaggems.observe("aten::*", device="cpu").remove() if _ % 50 == 0 else (
                    flaggems.observe("aten::exp", device="cpu").remove()
                )
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        self.assertEqual(wrong, [])


class KernelErrorsTest(testutil.PrecisionTestCase):
    def test_exceptions_pass_unchanged_with_their_traceback(self) -> None:
        class MyError(Exception):
            pass

        def raising(x: torch.Tensor) -> torch.Tensor:
            def deep_inside() -> None:
                raise MyError("seven", 7)

            deep_inside()
            return x

        self.check(profile="strict")
        with testutil.registered("aten::erf", raising):
            flaggems.observe("aten::erf", device="cpu")
            # assertRaises() would drop the traceback.
            try:
                torch.erf(torch.ones(3))
                self.fail("nothing was raised")
            except MyError as error:
                self.assertEqual(error.args, ("seven", 7))
                names = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
            flaggems.disable()
        self.assertIn("deep_inside", names)
        # The kernel refuses what torch's own computes.
        self.assertEqual(self.summary_of("erf")["failed_by_reason"], {"throw": 1})

    def test_interrupt_is_no_failure(self) -> None:
        def interrupted(x: torch.Tensor) -> torch.Tensor:
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(1000):
                time.sleep(0.01)
            return x

        self.check(profile="strict")
        with testutil.registered("aten::erf", interrupted):
            flaggems.observe("aten::erf", device="cpu")
            with self.assertRaises(KeyboardInterrupt):
                torch.erf(torch.ones(3))
            flaggems.disable()
        self.assertEqual(self.summary_of("erf")["failed"], 0)
        self.assertEqual(self.records(), [])

    def test_interrupt_of_a_golden_function_reaches_the_program(self) -> None:
        library = torch.library.Library("interpreter_test", "FRAGMENT")
        library.define("same(Tensor x) -> Tensor")
        library.impl("same", lambda x: x.clone(), "CPU")

        @flaggems.golden("interpreter_test::same")
        def interrupted(x: torch.Tensor) -> torch.Tensor:
            signal.raise_signal(signal.SIGINT)
            time.sleep(10)
            return x

        self.check(profile="strict")
        flaggems.observe("interpreter_test::same", device="cpu")
        with self.assertRaises(KeyboardInterrupt):
            torch.ops.interpreter_test.same(torch.ones(3))
            time.sleep(10)
        row = self.summary_of("interpreter_test::same")
        self.assertEqual(row["failed"], 0)

    def test_interrupt_of_a_program(self) -> None:
        """Ctrl-C ends a loop of checked calls as it ends one of plain calls."""
        self.check(profile="strict", max_checks=1_000_000)
        flaggems.observe(device="cpu")
        timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            while True:
                torch.ones(16, 16).softmax(-1)
        timer.join()
        rows = flaggems.summary()
        self.assertEqual([r for r in rows if r["failed"] or r["errors"]], [])


class Numbers(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 32

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.erf(torch.full((3,), index / 16))


class ForkTest(testutil.PrecisionTestCase):
    def test_data_loader_workers(self) -> None:
        """Forked workers check for themselves and write to the same log."""
        self.check(profile="strict", log_once=False)
        want = [Numbers()[i] for i in range(32)]
        flaggems.observe(device="cpu")
        busy = threading.Event()

        def work() -> None:  # locks are taken while the workers are forked
            while not busy.is_set():
                torch.ones(4).exp()

        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            loader = torch.utils.data.DataLoader(
                Numbers(), batch_size=4, num_workers=2, multiprocessing_context="fork", timeout=60
            )
            got = [row for batch in loader for row in batch]
        finally:
            busy.set()
            for thread in threads:
                thread.join()
        for a, b in zip(want, got):
            self.assertTrue(torch.equal(a, b))
        self.assertEqual(self.records(), [])

    def test_a_wrong_kernel_in_a_worker_is_logged(self) -> None:
        self.check(profile="strict", log_once=False)
        with testutil.registered("aten::erf", wrong_erf):
            flaggems.observe("aten::erf", device="cpu")
            loader = torch.utils.data.DataLoader(
                Numbers(), batch_size=4, num_workers=2, multiprocessing_context="fork", timeout=60
            )
            self.assertEqual(len(list(loader)), 8)
            flaggems.disable()
        pids = {record["pid"] for record in self.records()}
        self.assertEqual(len(pids), 2)
        self.assertNotIn(os.getpid(), pids)
        self.assertEqual(len(self.records()), 32)

    def test_a_child_counts_for_itself(self) -> None:
        self.check(profile="strict")
        flaggems.observe("aten::erf", device="cpu")
        for _ in range(5):
            torch.erf(torch.ones(3))
        pid = os.fork()
        if pid == 0:
            torch.set_num_threads(1)
            torch.erf(torch.ones(3))
            os._exit(self.summary_of("erf")["calls"])
        _, status = os.waitpid(pid, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), 1)
        self.assertEqual(self.summary_of("erf")["calls"], 5)


class LibraryTest(testutil.PrecisionTestCase):
    def test_loading_it_again_changes_nothing(self) -> None:
        path = str(flaggems._library._path)
        torch.ops.load_library(path)
        self.check(profile="strict")
        flaggems.observe("aten::erf", device="cpu")
        torch.erf(torch.ones(3))
        self.assertEqual(self.summary_of("erf")["calls"], 1)

    def test_another_copy_refuses(self) -> None:
        """Two copies would check each other's wrappers."""
        self.check(profile="strict")
        with tempfile.TemporaryDirectory() as folder:
            copy = shutil.copy(flaggems._library._path, folder)
            program = f"""
import ctypes, flaggems
flaggems.enable_precision_check(path={str(self.log)!r} + ".other", summary_at_exit=False)
copy = ctypes.CDLL({copy!r})
copy.flaggems_call.restype = ctypes.c_char_p
print(copy.flaggems_call(b"observe", b'{{"include": ["mm"], "device": "cpu"}}').decode())
"""
            result = subprocess.run(
                [sys.executable, "-c", program], capture_output=True, text=True, check=True
            )
        self.assertIn("FAILED_PRECONDITION", result.stdout)
        self.assertIn(f"this copy ({copy}) came second", result.stdout)


class CustomOperatorsTest(testutil.PrecisionTestCase):
    def test_custom_op_with_a_golden_function(self) -> None:
        @torch.library.custom_op("interpreter_test::twice", mutates_args=())
        def twice(x: torch.Tensor) -> torch.Tensor:
            return torch.full_like(x, 7)

        self.check(profile="strict", log_once=False)
        flaggems.observe("interpreter_test::twice", device="cpu")
        twice(torch.ones(3))
        self.assertEqual(
            self.summary_of("interpreter_test::twice")["skipped"], {"unsupported": 1}
        )

        @flaggems.golden("interpreter_test::twice")
        def golden(x: torch.Tensor) -> torch.Tensor:
            return x * 2

        twice(torch.ones(3))
        row = self.summary_of("interpreter_test::twice")
        self.assertEqual(row["failed_by_reason"], {"value": 1})
        self.assertEqual(self.records()[0]["reference"], "golden")


if __name__ == "__main__":
    sys.exit(unittest.main())
