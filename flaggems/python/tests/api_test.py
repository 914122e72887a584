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

    def test_every_option_is_documented_with_its_type_and_default(self) -> None:
        flags = Path("docs/flags.md").read_text()
        strict = {
            name: (original, value)
            for name, original, value in re.findall(
                r"^\| `(\w+)` \| `([^`]*)` \| `([^`]*)` \|$", flags, re.MULTILINE
            )
        }
        self.assertIn("max_checks", strict)
        documented = inspect.getdoc(flaggems.enable_precision_check)
        assert documented is not None
        said = {
            name: (kind, defaults.split(" / "))
            for name, kind, defaults in re.findall(
                r"^  (\w+) \(([^,()]+), ([^()]+)\): \S", documented, re.MULTILINE
            )
        }
        self.assertEqual(set(said), _options.NAMES)

        def in_python(kind: str, default: str) -> str:
            """A flag's value, as Python writes it."""
            if kind.startswith("bool"):
                return default.capitalize()
            if kind.startswith("string"):
                return f'"{default}"'
            return default

        kinds = {"bool": "bool", "int": "int", "float": "float"}
        rows = re.findall(
            r"^\| `--precision_(\w+)` \|[^|]+\| (\w+)[^|]* \| (\S+) \|",
            flags,
            re.MULTILINE,
        )
        self.assertEqual({name for name, _, _ in rows}, _options.NAMES | {"check"})
        for name, kind, default in rows:
            with self.subTest(name):
                if name == "check":
                    continue
                said_kind, said_defaults = said[name]
                if default == "empty":
                    self.assertIn(said_kind, ("path", "names of operators"))
                    continue
                self.assertEqual(said_kind, kinds.get(kind, "str"))
                values = strict.get(name, (default.strip("`"),))
                want = [in_python(kind, value) for value in values]
                if kind == "float":
                    want = [str(float(value)) for value in want]
                    said_defaults = [str(float(value)) for value in said_defaults]
                self.assertEqual(said_defaults, want)

    def test_every_key_of_the_summary_is_documented(self) -> None:
        documented = inspect.getdoc(flaggems.summary)
        assert documented is not None
        self.assertEqual(
            re.findall(r"^  (\w+) \(\w+\): \w", documented, re.MULTILINE),
            list(flaggems.OpSummary.__annotations__),
        )
        self.check()
        with flaggems.observe("aten::neg", device="cpu"):
            torch.ones(3).neg()
        self.assertEqual(
            set(self.summary_of("neg")), set(flaggems.OpSummary.__annotations__)
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
