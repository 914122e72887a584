"""Kernels of a CUDA device, observed. Skipped without one."""

from __future__ import annotations

import sys
import threading
import unittest

import testutil
import torch

import flaggems


class Block(torch.nn.Module):
    """A decoder block as language models have it."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1 = torch.nn.RMSNorm(width)
        self.qkv = torch.nn.Linear(width, 3 * width, bias=False)
        self.out = torch.nn.Linear(width, width, bias=False)
        self.norm2 = torch.nn.LayerNorm(width)
        self.up = torch.nn.Linear(width, 2 * width)
        self.down = torch.nn.Linear(2 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, -1).transpose(1, 2)
            for part in self.qkv(self.norm1(x)).chunk(3, -1)
        )
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(torch.nn.functional.silu(self.up(self.norm2(x))))


def language_model() -> torch.nn.Module:
    return torch.nn.Sequential(
        torch.nn.Embedding(100, 64), Block(64, 4), Block(64, 4), torch.nn.Linear(64, 100)
    )


def conv_net() -> torch.nn.Module:
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3, padding=1),
        torch.nn.BatchNorm2d(16),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(16, 16, 3, groups=4),
        torch.nn.GroupNorm(4, 16),
        torch.nn.Hardswish(),
        torch.nn.ConvTranspose2d(16, 8, 2, stride=2),
        torch.nn.AdaptiveAvgPool2d(3),
        torch.nn.Flatten(),
        torch.nn.Linear(72, 10),
    )


@unittest.skipUnless(torch.cuda.is_available(), "there is no CUDA device")
class CudaTest(testutil.PrecisionTestCase):
    def setUp(self) -> None:
        super().setUp()
        torch.manual_seed(1)

    def complaints(self) -> list:
        return self.records() + [
            row for row in flaggems.summary() if row["failed"] or row["errors"]
        ]

    def judged(self) -> int:
        return sum(row["passed"] for row in flaggems.summary())

    def train(self, model, inputs, targets, dtype, steps=3, optimizer=None) -> float:
        model = model.cuda().to(dtype)
        optimizer = (optimizer or (lambda p: torch.optim.AdamW(p, fused=True)))(
            model.parameters()
        )
        for _ in range(steps):
            logits = model(inputs)
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, -2), targets.flatten())
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        return loss.item()

    def test_training_of_a_language_model(self) -> None:
        tokens = torch.randint(0, 100, (2, 33), device="cuda")
        for dtype in (torch.float32, torch.bfloat16, torch.float16):
            with self.subTest(str(dtype)):
                torch.manual_seed(1)
                want = self.train(language_model(), tokens[:, :-1], tokens[:, 1:], dtype)
                self.check(profile="strict", log_once=False)
                flaggems.observe()
                torch.manual_seed(1)
                got = self.train(language_model(), tokens[:, :-1], tokens[:, 1:], dtype)
                flaggems.disable()
                print(dtype, "judged", self.judged())
                print(flaggems.summary_table())
                self.assertEqual(self.complaints(), [])
                self.assertGreater(self.judged(), 100)
                self.assertAlmostEqual(got, want, places=2)

    def test_training_of_a_convolutional_network(self) -> None:
        images = torch.randn(4, 3, 16, 16, device="cuda")
        targets = torch.randint(0, 10, (4,), device="cuda")
        for dtype in (torch.float32, torch.bfloat16, torch.float16):
            with self.subTest(str(dtype)):
                self.check(profile="strict", log_once=False)
                flaggems.observe()
                self.train(conv_net(), images.to(dtype), targets, dtype)
                flaggems.disable()
                print(dtype, "judged", self.judged())
                self.assertEqual(self.complaints(), [])
                self.assertGreater(self.judged(), 100)

    def test_autocast_and_foreach_optimizer(self) -> None:
        tokens = torch.randint(0, 100, (2, 33), device="cuda")
        self.check(profile="strict", log_once=False)
        flaggems.observe()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            self.train(
                language_model(),
                tokens[:, :-1],
                tokens[:, 1:],
                torch.float32,
                optimizer=lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, foreach=True),
            )
        self.assertEqual(self.complaints(), [])

    def test_results_are_the_same_bits(self) -> None:
        model = language_model().cuda().eval()
        tokens = torch.randint(0, 100, (2, 32), device="cuda")
        with torch.inference_mode():
            want = model(tokens)
            self.check(profile="strict", log_once=False)
            flaggems.observe()
            got = model(tokens)
        self.assertTrue(torch.equal(got, want))
        self.assertEqual(self.complaints(), [])

    def test_a_wrong_kernel(self) -> None:
        def wrong(x: torch.Tensor) -> torch.Tensor:
            out = x * 1
            out.flatten()[-1] = 7
            return out

        x = torch.randn(1000, device="cuda")
        for on_failure in ("log", "substitute"):
            self.check(profile="strict", on_failure=on_failure)
            with testutil.registered("aten::erf", wrong, "CUDA"):
                flaggems.observe("aten::erf")
                got = torch.erf(x)
                flaggems.disable()
            self.assertEqual(self.summary_of("erf")["failed"], 1)
            self.assertEqual(self.records()[0]["device"], "cuda:0")
            self.assertTrue(got.is_cuda)
            self.assertEqual(got[-1].item() == 7, on_failure == "log")
        torch.testing.assert_close(got.cpu(), torch.erf(x.cpu()))

    def test_graph_capture(self) -> None:
        x = torch.randn(64, 64, device="cuda")
        self.check(profile="strict", log_once=False)
        flaggems.observe()
        stop = threading.Event()
        y = torch.randn(16, 16, device="cuda")

        def other_thread() -> None:
            # Checks, with their copies to the host, while the graph is captured.
            with torch.cuda.stream(torch.cuda.Stream()):
                while not stop.is_set():
                    torch.tanh(y)

        graph = torch.cuda.CUDAGraph()
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            (x @ x).softmax(-1)
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
            y = (x @ x).softmax(-1)
        graph.replay()
        torch.cuda.synchronize()
        thread = threading.Thread(target=other_thread)
        thread.start()
        try:
            other = torch.cuda.CUDAGraph()
            with torch.cuda.graph(other, capture_error_mode="thread_local"):
                z = x + 1
            other.replay()
        finally:
            stop.set()
            thread.join()
        self.assertEqual(self.summary_of("mm")["skipped"], {"capture": 1})
        torch.testing.assert_close(y, (x @ x).softmax(-1))
        torch.testing.assert_close(z, x + 1)
        self.assertEqual(self.complaints(), [])

    def test_compiled_model(self) -> None:
        model = torch.compile(torch.nn.Linear(32, 32).cuda(), backend="aot_eager")
        self.check(profile="strict", log_once=False)
        flaggems.observe()
        model(torch.randn(4, 32, device="cuda")).sum().backward()
        self.assertGreater(self.judged(), 0)
        self.assertEqual(self.complaints(), [])

    def test_triton_kernel(self) -> None:
        try:
            import triton
            import triton.language as tl
        except ImportError:
            self.skipTest("there is no Triton")

        @triton.jit
        def relu_kernel(x, y, n, BLOCK: tl.constexpr):
            at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(y + at, tl.maximum(tl.load(x + at, at < n), 0), at < n)

        def relu(x: torch.Tensor) -> torch.Tensor:
            y = torch.empty_like(x)
            relu_kernel[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
            return y

        def short_relu(x: torch.Tensor) -> torch.Tensor:
            y = torch.zeros_like(x)
            relu_kernel[(x.numel() // 128,)](x, y, x.numel(), BLOCK=128)
            return y

        x = torch.randn(1000, device="cuda")
        for kernel, failed in ((relu, 0), (short_relu, 1)):
            self.check(profile="strict", log_once=False)
            with testutil.registered("aten::relu", kernel, "CUDA"):
                flaggems.observe("aten::relu")
                torch.relu(x)
                flaggems.disable()
            self.assertEqual(self.summary_of("relu")["failed"], failed)


if __name__ == "__main__":
    sys.exit(unittest.main())
