"""Golden functions: what is defined for the library."""

from __future__ import annotations

import unittest
from typing import Any
from unittest import mock

import testutil
import torch

import flaggems
from flaggems import _golden


class GoldenTest(testutil.PrecisionTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.library = torch.library.Library("flaggems_golden_test", "FRAGMENT")
        self.addCleanup(self.library._destroy)

    def define(self, schema: str) -> None:
        self.library.define(schema)

    def registered(
        self, op: str, function: Any, **options: Any
    ) -> dict[str, dict[str, Any]]:
        """What golden() tells the library, by operator."""
        with mock.patch.object(_golden._library, "call") as call:
            same = flaggems.golden(op, **options)(function)
        self.assertIs(same, function)
        calls = [each.args for each in call.call_args_list]
        self.assertTrue(all(name == "golden" for name, _ in calls))
        return {arguments["op"]: arguments for _, arguments in calls}

    def test_overload(self) -> None:
        told = self.registered("aten::add.Tensor", torch.add)
        self.assertEqual(list(told), ["aten::add.Tensor"])
        self.assertTrue(told["aten::add.Tensor"]["widen"])
        self.assertTrue(
            told["aten::add.Tensor"]["function"].startswith("flaggems_golden::")
        )

    def test_all_overloads_of_a_name(self) -> None:
        self.define("twice(Tensor x) -> Tensor")
        self.define("twice.scaled(Tensor x, float scale) -> Tensor")
        told = self.registered(
            "flaggems_golden_test::twice",
            lambda x, scale=1: 2 * scale * x,
            widened=False,
        )
        self.assertEqual(
            sorted(told),
            ["flaggems_golden_test::twice", "flaggems_golden_test::twice.scaled"],
        )
        for op, arguments in told.items():
            self.assertFalse(arguments["widen"])
            function = testutil.overload(arguments["function"])
            self.assertEqual(
                str(function._schema).partition("(")[2],
                str(testutil.overload(op)._schema).partition("(")[2],
            )
        scaled = testutil.overload(
            told["flaggems_golden_test::twice.scaled"]["function"]
        )
        self.assertEqual(scaled(torch.ones(2), 3.0).tolist(), [6, 6])

    def test_without_namespace(self) -> None:
        self.assertEqual(list(self.registered("relu", torch.relu)), ["aten::relu"])

    def test_out_is_named_or_left_out(self) -> None:
        self.assertEqual(list(self.registered("neg.default", torch.neg)), ["aten::neg"])
        self.assertEqual(list(self.registered("neg.out", torch.neg)), ["aten::neg.out"])
        both = self.registered("aten::div", torch.div)
        self.assertIn("aten::div.Tensor_mode", both)
        self.assertNotIn("aten::div.out", both)
        # What is written, but not by keyword.
        self.assertEqual(list(self.registered("relu_", torch.relu_)), ["aten::relu_"])

    def test_every_argument_is_passed(self) -> None:
        self.define(
            "all(Tensor x, int[2] size=[1, 2], *, float p=0.5, str? mode=None) -> Tensor"
        )
        seen: list[Any] = []

        def function(*args: Any, **kwargs: Any) -> torch.Tensor:
            seen.append((args[1:], kwargs))
            return args[0] + 1

        (told,) = self.registered("flaggems_golden_test::all", function).values()
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
        (told,) = self.registered("aten::neg", lambda x: x).values()
        op = testutil.overload(told["function"])
        for key in ("CPU", "CUDA", "PrivateUse1"):
            self.assertTrue(
                torch._C._dispatch_has_computed_kernel_for_dispatch_key(op._name, key)
            )

    def test_arguments_that_are_written(self) -> None:
        (told,) = self.registered("aten::relu_", lambda x: x.clamp_min_(0)).values()
        x = torch.tensor([-1.0, 1.0])
        result = testutil.overload(told["function"])(x)
        self.assertEqual(x.tolist(), [0, 1])
        self.assertIs(result, x)

    def test_lists_and_several_results(self) -> None:
        self.define("ends(Tensor[] xs, Tensor? y) -> (Tensor, Tensor[])")
        (told,) = self.registered(
            "flaggems_golden_test::ends", lambda xs, y: (xs[0] * 2, [x + 1 for x in xs])
        ).values()
        first, rest = testutil.overload(told["function"])([torch.ones(1)] * 2, None)
        self.assertEqual(first.item(), 2)
        self.assertEqual([x.item() for x in rest], [2, 2])

    def test_again(self) -> None:
        (first,) = self.registered("aten::neg", torch.neg).values()
        (second,) = self.registered("aten::neg", torch.abs).values()
        self.assertNotEqual(first["function"], second["function"])

    def test_what_it_raises(self) -> None:
        def refuses(x: torch.Tensor) -> torch.Tensor:
            raise ZeroDivisionError("golden")

        (told,) = self.registered("aten::neg", refuses).values()
        with self.assertRaisesRegex(ZeroDivisionError, "golden"):
            testutil.overload(told["function"])(torch.ones(1))


if __name__ == "__main__":
    unittest.main()
