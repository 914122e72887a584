"""The names of the package, their signatures, and what belongs together."""

from __future__ import annotations

import importlib
import inspect
import re
import threading
import typing
import unittest
from pathlib import Path

import testutil
import torch

import flaggems
from flaggems import _library, _options, _version

SIGNATURES = {
    "enable_precision_check": "(rtol=None, atol=None, max_checks=None, log_once=None, "
    "path=None, *, profile='original', **options)",
    "disable_precision_check": "()",
    "precision_check_enabled": "()",
    "enable": "(registrar=None)",
    "only_enable": "(include, registrar=None)",
    "observe": "(include=('aten::*',), exclude=(), device='cuda')",
    "disable": "()",
    "summary": "()",
    "summary_table": "()",
    "golden": "(op, *, widened=True)",
}


def untyped(function: typing.Any) -> str:
    signature = inspect.signature(function)
    parameters = [
        each.replace(annotation=inspect.Parameter.empty)
        for each in signature.parameters.values()
    ]
    return str(
        signature.replace(
            parameters=parameters, return_annotation=inspect.Signature.empty
        )
    )


class ApiTest(testutil.PrecisionTestCase):
    def test_signatures(self) -> None:
        for name, want in SIGNATURES.items():
            with self.subTest(name):
                self.assertEqual(untyped(getattr(flaggems, name)), want)

    def test_public_names_are_documented_and_typed(self) -> None:
        for name in set(flaggems.__all__) - {"__version__"}:
            with self.subTest(name):
                value = getattr(flaggems, name)
                self.assertTrue(inspect.getdoc(value))
                if inspect.isfunction(value):
                    signature = inspect.signature(value)
                    empty = inspect.Signature.empty
                    self.assertIsNot(signature.return_annotation, empty)
                    for parameter in signature.parameters.values():
                        self.assertIsNot(parameter.annotation, empty, parameter.name)
        self.assertLessEqual(set(SIGNATURES), set(flaggems.__all__))

    def test_typed_marker(self) -> None:
        self.assertTrue((Path(flaggems.__file__).parent / "py.typed").exists())

    def test_options_are_those_of_the_flags(self) -> None:
        rows = re.findall(
            r"^\| `--precision_(\w+)` ",
            Path("docs/flags.md").read_text(),
            re.MULTILINE,
        )
        # --precision_check is the function itself.
        self.assertEqual(
            _options.NAMES,
            set(rows) - {"check"},
            "flaggems/python/flaggems/_options.py and docs/flags.md differ",
        )

    def test_documented_defaults_are_those_of_the_flags(self) -> None:
        flags = Path("docs/flags.md").read_text()
        documented = inspect.getdoc(flaggems.enable_precision_check)
        assert documented is not None
        for name, in_flags, in_python in [
            ("rtol", "0.0001", "1e-4"),
            ("atol", "1e-05", "1e-5"),
            ("max_checks", "10", "10"),
            ("log_once", "true", "True"),
        ]:
            with self.subTest(name):
                self.assertRegex(
                    flags, rf"`--precision_{name}` \|[^|]+\|[^|]+\| `{in_flags}`"
                )
                self.assertRegex(
                    " ".join(documented.split()),
                    rf" {name}: [^:]*[Dd]efault {in_python}\b",
                )

    def test_versions(self) -> None:
        header = Path("flaggems/version.h").read_text()
        self.assertIn(f'kVersion[] = "{_version.__version__}"', header)
        self.assertEqual(flaggems.__version__, _version.__version__)
        built = _library.call("version")
        self.assertEqual(built["flaggems"], _version.__version__)
        self.assertEqual(built["torch"].partition("+")[0], _version.TORCH_VERSION)
        required = Path("tools/setup.d/requirements.txt").read_text()
        self.assertIn(f"\ntorch=={_version.TORCH_VERSION}\n", required)

    def test_reload(self) -> None:
        # One library, so one state.
        self.check()
        for module in ("_library", "_check", "_kernels", "errors"):
            importlib.reload(importlib.import_module(f"flaggems.{module}"))
        importlib.reload(flaggems)
        self.assertTrue(flaggems.precision_check_enabled())

    def test_library_loaded_by_torch_too(self) -> None:
        self.check()
        torch.ops.load_library(str(_library._path))
        self.assertTrue(flaggems.precision_check_enabled())
        self.assertIn(str(_library._path.resolve()), {*torch.ops.loaded_libraries})

    def test_many_threads(self) -> None:
        self.check(profile="strict")
        failures: list[BaseException] = []

        def work() -> None:
            try:
                for _ in range(20):
                    torch.ones(4).neg()
                    flaggems.summary()
                    flaggems.summary_table()
                    flaggems.precision_check_enabled()
            except BaseException as error:
                failures.append(error)

        with flaggems.observe("aten::neg", device="cpu"):
            threads = [threading.Thread(target=work) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(failures, [])
            said = self.summary_of("neg")
        self.assertEqual(said["calls"], 80)
        self.assertEqual(said["failed"], 0)


if __name__ == "__main__":
    unittest.main()
