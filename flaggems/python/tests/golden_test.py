"""Golden functions: that calls are judged by them, and what they get."""

from __future__ import annotations

import itertools
import unittest
from collections.abc import Callable
from typing import Any
from unittest import mock

import testutil
import torch

import flaggems
from flaggems import _golden, _library

NUMBERS = itertools.count()


class GoldenTestCase(testutil.PrecisionTestCase):
    """Each case has a namespace of its own, since golden functions stay."""

    def setUp(self) -> None:
        super().setUp()
        self.renew()

    def renew(self) -> None:
        self.namespace = f"flaggems_golden_test_{next(NUMBERS)}"
        self.library = torch.library.Library(self.namespace, "FRAGMENT")

    def define(
        self, schema: str, kernel: Callable[..., Any] | None = None
    ) -> torch._ops.OpOverload:
        name = schema.partition("(")[0]
        self.library.define(schema)
        if kernel is not None:
            self.library.impl(name, kernel, "CPU")
        return testutil.overload(f"{self.namespace}::{name}")


class CheckedTest(GoldenTestCase):
    SWISH = "swish(Tensor x, float beta=1.0) -> Tensor"

    def swish(self, kernel: Callable[..., Any]) -> tuple[str, Any]:
        op = self.define(self.SWISH, kernel)
        return f"{self.namespace}::swish", op

    def judged(
        self, name: str, call: Callable[[], Any], profile: str = "strict"
    ) -> flaggems.OpSummary:
        self.check(profile=profile)
        with flaggems.observe(name, device="cpu"):
            call()
        return self.summary_of(name)

    def test_right_and_wrong_kernel(self) -> None:
        x = torch.linspace(-3, 3, 50)
        for kernel, verdict in [
            (lambda x, beta=1.0: x * torch.sigmoid(beta * x), "passed"),
            (lambda x, beta=1.0: x * torch.sigmoid(x), "failed"),
        ]:
            for profile in ("strict", "original"):
                with self.subTest(verdict=verdict, profile=profile):
                    self.renew()
                    name, op = self.swish(kernel)

                    @flaggems.golden(name)
                    def swish(x: torch.Tensor, beta: float) -> torch.Tensor:
                        return x * torch.sigmoid(beta * x)

                    said = self.judged(name, lambda: op(x, 1.5), profile)
                    self.assertEqual((said["calls"], said[verdict]), (1, 1), said)
                    if verdict == "failed":
                        (record,) = self.records()
                        self.assertEqual(record["op"], name)

    def test_without_one(self) -> None:
        name, op = self.swish(lambda x, beta=1.0: x * torch.sigmoid(x))
        said = self.judged(name, lambda: op(torch.ones(3)))
        self.assertEqual(said["skipped"], {"unsupported": 1})

    def test_widened_or_not(self) -> None:
        for widened, want in [
            (True, {torch.float32, torch.float64}),
            (False, {torch.float32}),
        ]:
            with self.subTest(widened=widened):
                self.renew()
                seen: set[torch.dtype] = set()
                name, op = self.swish(lambda x, beta=1.0: x * torch.sigmoid(beta * x))

                @flaggems.golden(name, widened=widened)
                def swish(x: torch.Tensor, beta: float) -> torch.Tensor:
                    seen.add(x.dtype)
                    return x * torch.sigmoid(beta * x)

                said = self.judged(name, lambda: op(torch.linspace(-3, 3, 50)))
                self.assertEqual(said["passed"], 1, said)
                self.assertLessEqual(seen, want)
                self.assertEqual(torch.float64 in seen, widened)

    def test_what_it_raises_is_an_error_and_the_program_goes_on(self) -> None:
        name, op = self.swish(lambda x, beta=1.0: x + 1)

        @flaggems.golden(name)
        def swish(x: torch.Tensor, beta: float) -> torch.Tensor:
            raise ZeroDivisionError("this golden function divides")

        results = []
        said = self.judged(name, lambda: results.append(op(torch.ones(3))))
        self.assertEqual(results[0].tolist(), [2, 2, 2])
        self.assertEqual(said["errors"], {"reference": 1})
        self.assertEqual((said["passed"], said["failed"]), (0, 0))
        self.assertIn("this golden function divides", flaggems.summary_table())

    def test_another_structure_is_an_error(self) -> None:
        for name_of_case, wrong in [
            ("nothing", lambda x: None),
            ("tuple", lambda x: (x, x)),
            ("text", lambda x: "x"),
            ("other sizes", lambda x: x[:1]),
            ("other dtype", lambda x: x.int()),
        ]:
            with self.subTest(name_of_case):
                self.renew()
                name, op = self.swish(lambda x, beta=1.0: x + 1)
                flaggems.golden(name)(lambda x, beta, wrong=wrong: wrong(x))
                said = self.judged(name, lambda: op(torch.ones(3)))
                self.assertEqual(said["errors"], {"reference": 1}, said)

    def test_the_last_one_counts(self) -> None:
        name, op = self.swish(lambda x, beta=1.0: x + 1)
        flaggems.golden(name)(lambda x, beta: x)
        flaggems.golden(name)(lambda x, beta: x + 1)
        said = self.judged(name, lambda: op(torch.ones(3)))
        self.assertEqual(said["passed"], 1, said)

    def test_registered_while_observed(self) -> None:
        name, op = self.swish(lambda x, beta=1.0: x + 1)
        self.check(profile="strict")
        with flaggems.observe(name, device="cpu"):
            op(torch.ones(3))
            flaggems.golden(name)(lambda x, beta: x + 1)
            op(torch.ones(3))
        said = self.summary_of(name)
        self.assertEqual((said["passed"], said["skipped"]), (1, {"unsupported": 1}))

    def test_calls_of_a_golden_function_are_torchs(self) -> None:
        name, op = self.swish(lambda x, beta=1.0: torch.clamp_min(x, 0))
        flaggems.golden(name)(lambda x, beta: torch.relu(x))
        with testutil.registered("aten::relu", lambda x: torch.full_like(x, 7)):
            with flaggems.observe("aten::relu", device="cpu"):
                said = self.judged(name, lambda: op(torch.linspace(-1, 1, 9)))
        self.assertEqual(said["passed"], 1, said)

    def test_operator_of_aten(self) -> None:
        flaggems.golden("aten::sinh")(lambda x: torch.cosh(x))
        self.addCleanup(_library.call, "remove_golden", {"op": "aten::sinh"})
        self.check(profile="strict")
        with flaggems.observe("aten::sinh", device="cpu"):
            torch.ones(3).sinh()
        said = self.summary_of("sinh")
        self.assertEqual(said["failed"], 1, said)

    def test_arguments_that_are_written(self) -> None:
        for what, kernel, verdict in [
            ("right", lambda x, n: x.add_(n), "passed"),
            ("wrong", lambda x, n: x.add_(n + 1), "failed"),
        ]:
            with self.subTest(what):
                self.renew()
                op = self.define("plus_(Tensor(a!) x, int n) -> Tensor(a!)", kernel)
                name = f"{self.namespace}::plus_"
                flaggems.golden(name)(lambda x, n: x.add_(n))
                x = torch.arange(3.0)
                said = self.judged(name, lambda: op(x, 2))
                self.assertEqual(said[verdict], 1, said)
                self.assertEqual(x[0].item(), 2 if what == "right" else 3)

    def test_lists_and_several_results(self) -> None:
        def ends(xs: list[torch.Tensor], y: torch.Tensor | None = None) -> Any:
            return xs[0] * 2, [x + 1 for x in xs]

        op = self.define(
            "ends(Tensor[] xs, Tensor? y=None) -> (Tensor, Tensor[])", ends
        )
        name = f"{self.namespace}::ends"
        flaggems.golden(name)(ends)
        said = self.judged(name, lambda: op([torch.ones(2), torch.ones(3)]))
        self.assertEqual(said["passed"], 1, said)


class DefinedTest(GoldenTestCase):
    """What is defined for the library, which is not told."""

    def told(self, op: str, function: Any, **options: Any) -> dict[str, Any]:
        """What golden() tells the library."""
        with mock.patch.object(_golden._library, "call") as call:
            same = flaggems.golden(op, **options)(function)
        self.assertIs(same, function)
        ((name, arguments),) = [each.args for each in call.call_args_list]
        self.assertEqual(name, "golden")
        return arguments

    def test_names(self) -> None:
        self.define("twice(Tensor x) -> Tensor")
        self.define("twice.scaled(Tensor x, float scale) -> Tensor")
        self.define("only.one(Tensor x) -> Tensor")
        ours = self.namespace
        for op, want in [
            ("aten::add.Tensor", "aten::add.Tensor"),
            ("add.Tensor", "aten::add.Tensor"),
            ("relu", "aten::relu.default"),
            ("aten::relu.default", "aten::relu.default"),
            ("aten::neg.out", "aten::neg.out"),
            (torch.ops.aten.relu, "aten::relu.default"),
            (torch.ops.aten.relu.default, "aten::relu.default"),
            (torch.ops.aten.add.Tensor, "aten::add.Tensor"),
            (getattr(torch.ops, ours).only, f"{ours}::only.one"),
            (f"{ours}::twice", f"{ours}::twice.default"),
            (f"{ours}::twice.scaled", f"{ours}::twice.scaled"),
            (f"{ours}::only", f"{ours}::only.one"),
        ]:
            with self.subTest(op):
                told = self.told(op, lambda x: x)
                self.assertEqual(told["op"], want)
                self.assertTrue(told["widen"])
                function = testutil.overload(told["function"])
                self.assertEqual(
                    str(function._schema).partition("(")[2],
                    str(testutil.overload(want)._schema).partition("(")[2],
                )

    def test_every_argument_is_passed(self) -> None:
        self.define(
            "all(Tensor x, int[2] size=[1, 2], *, float p=0.5, str? mode=None) -> Tensor"
        )
        seen: list[Any] = []

        def function(*args: Any, **kwargs: Any) -> torch.Tensor:
            seen.append((args[1:], kwargs))
            return args[0] + 1

        told = self.told(f"{self.namespace}::all", function, widened=False)
        self.assertFalse(told["widen"])
        op = testutil.overload(told["function"])
        x = torch.ones(2)
        op(x)
        op(x, [3, 4], mode="m")
        self.assertEqual(
            seen,
            [
                (([1, 2],), {"p": 0.5, "mode": None}),
                (([3, 4],), {"p": 0.5, "mode": "m"}),
            ],
        )

    def test_every_device(self) -> None:
        op = testutil.overload(self.told("aten::neg", lambda x: x)["function"])
        for key in ("CPU", "CUDA", "PrivateUse1"):
            self.assertTrue(
                torch._C._dispatch_has_computed_kernel_for_dispatch_key(op._name, key)
            )

    def test_again(self) -> None:
        first = self.told("aten::neg", torch.neg)
        second = self.told("aten::neg", torch.abs)
        self.assertNotEqual(first["function"], second["function"])


if __name__ == "__main__":
    unittest.main()
