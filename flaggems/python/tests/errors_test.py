"""Bad input: which exception, and that the message says what to do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import testutil
import torch

import flaggems
from flaggems import _library, _options, errors

CHECKED = flaggems.PrecisionCheckRegister


def check(**options: Any) -> Callable[[], None]:
    return lambda: flaggems.enable_precision_check(**options)


# What is done, the built-in exception, and what the message says.
CASES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "negative rtol": (check(rtol=-1.0), ValueError, "rtol is -1.0; it must be"),
    "rtol is NaN": (check(rtol=float("nan")), ValueError, "rtol .*must be"),
    "rtol is a word": (check(rtol="small"), ValueError, 'rtol.*"small"'),
    "max_checks is no integer": (check(max_checks=1.5), ValueError, "max_checks"),
    "log_once is a number": (check(log_once=7), ValueError, "log_once"),
    "profile unknown": (check(profile="strickt"), ValueError, "profile.*strict"),
    "fields that do not go together": (
        check(tolerance="budget"), ValueError, "reference_dtype",
    ),
    "a device in the profile original": (
        check(reference="device"), ValueError, '"fixed" and reference is "device"',
    ),
    "a policy file in the profile original": (
        check(policy_file="x.tsv"), ValueError, '"fixed" and policy_file is "x.tsv"',
    ),
    "value of no known type": (check(max_checks=object()), ValueError, "max_checks is"),
    "list of numbers": (check(skip=[1]), ValueError, "skip is .1.; give a list"),
    "list that is a number": (check(no_skip=1), ValueError, "no_skip is 1; give"),
    "list where none belongs": (
        check(format=["text"]), ValueError, "format is .*give a bool",
    ),
    "path is bytes": (check(path=b"x"), ValueError, "path is b'x'.*name of a file"),
    "path is a number": (check(path=3), ValueError, "path is 3; .*name of a file"),
    "path is a bool": (check(suppressions=True), ValueError, "suppressions is True"),
    "path is a list": (check(policy_file=["x"]), ValueError, "policy_file is "),
    "operator of skip unknown": (check(skip=["rulu"]), ValueError, "rulu.*relu"),
    "function of Python in skip": (
        check(skip="torch.mm"), ValueError, 'skip: .*did you mean "mm"',
    ),
    "several names in one of skip": (
        check(skip={"mm,add"}), ValueError, r'are a list: \["mm", "add"\]',
    ),
    "option unknown": (check(rtoll=1), TypeError, '"rtoll"; did you mean rtol'),
    "option as a flag": (
        check(**{"--precision_rtol": 1}), TypeError, "did you mean rtol[?]",
    ),
    "option as a flag without dashes": (
        check(precision_log_once=1), TypeError, "did you mean log_once[?]",
    ),
    "option as a flag, misspelt": (
        check(precision_max_chekcs=1), TypeError, "did you mean max_checks",
    ),
    "option as a variable": (
        check(FLAGGEMS_PRECISION_MAX_CHECKS=1), TypeError, "mean max_checks[?]",
    ),
    "option that enables": (
        check(precision_check=True), TypeError, "the call itself enables",
    ),
    "option like no other": (check(zzzz=1), TypeError, '"zzzz"; there are .*atol.*'),
    "option that is a function": (check(check=True), TypeError, '"check"'),
    "log where nothing can be": (
        check(path="/proc/none/precision.log"), OSError, "/proc/none.*another path",
    ),
    "log below a file": (check(path="/dev/null/x.log"), OSError, "/dev/null"),
    "log is a folder": (check(path="/"), ValueError, 'path "/" is that of a dir'),
    "policy file missing": (
        check(profile="strict", policy_file="/none.tsv"),
        OSError,
        "policy_file: cannot read .*/none.tsv",
    ),
    "kernel unknown": (
        lambda: flaggems.only_enable(["mn"], registrar=CHECKED),
        # Where kernels for CUDA are built, min is one, too.
        LookupError, '"mn"; did you mean (min, )?mm',
    ),
    "no kernel named": (lambda: flaggems.only_enable([]), ValueError, "include"),
    "name is no text": (lambda: flaggems.only_enable([3]), ValueError, "include holds 3"),
    "registrar of another kind": (
        lambda: flaggems.enable(registrar=int), ValueError, "PrecisionCheckRegister",
    ),
    "operator unknown": (
        lambda: flaggems.observe("rulu", device="cpu"), LookupError, "rulu.*relu",
    ),
    "pattern matches nothing": (
        lambda: flaggems.observe("none::*", device="cpu"), LookupError, "none::",
    ),
    "nothing to observe": (
        lambda: flaggems.observe([], device="cpu"), ValueError, "include",
    ),
    "exclude unknown": (
        lambda: flaggems.observe("aten::*", exclude="rulu", device="cpu"),
        LookupError, "rulu",
    ),
    "function in place of a name": (
        lambda: flaggems.observe(torch.mm, device="cpu"),
        ValueError, "include is <built-in .* mm .*or torch.ops.aten.mm",
    ),
    "None in place of names": (
        lambda: flaggems.observe(None, device="cpu"), ValueError, "include is None",
    ),
    "None in place of names to leave out": (
        lambda: flaggems.observe("mm", exclude=None, device="cpu"),
        ValueError, "exclude is None",
    ),
    "function among names": (
        lambda: flaggems.observe(["mm", torch.add], device="cpu"),
        ValueError, "include holds <built-in",
    ),
    "name of a function of Python": (
        lambda: flaggems.observe("torch.nn.functional.gelu", device="cpu"),
        LookupError, 'dispatcher.*did you mean "gelu"',
    ),
    "name as Python writes the operator": (
        lambda: flaggems.observe("torch.ops.my.op.out", device="cpu"),
        LookupError, 'did you mean "my::op.out"',
    ),
    "name as a graph of torch.fx has it": (
        lambda: flaggems.observe("aten.mm.default", device="cpu"),
        LookupError, 'did you mean "aten::mm.default"',
    ),
    "several names in one": (
        lambda: flaggems.observe("mm, add", device="cpu"),
        ValueError, r'names are a list: \["mm", "add"\]',
    ),
    "several names in one of enable": (
        lambda: flaggems.only_enable("mm,add"), ValueError, "are a list",
    ),
    "device is None": (
        lambda: flaggems.observe(device=None), ValueError, 'device is None; .*"cuda"',
    ),
    "device is a number": (
        lambda: flaggems.observe(device=0), ValueError, "device is 0; ",
    ),
    "device of torch with an index": (
        lambda: flaggems.observe(device=torch.device("cuda:1")),
        ValueError, 'device is "cuda:1".*without an index',
    ),
    "device unknown": (lambda: flaggems.observe(device="gpu"), ValueError, '"gpu"'),
    "device with an index": (
        lambda: flaggems.observe(device="cuda:0"), ValueError, "without an index",
    ),
    "composite operator": (
        lambda: flaggems.observe("aten::einsum", device="cpu"), LookupError, "einsum",
    ),
    "golden of nothing": (
        lambda: flaggems.golden("aten::rulu"), LookupError, "did you mean aten::relu",
    ),
    "golden without a name": (
        lambda: flaggems.golden(lambda x: x), ValueError, '@flaggems.golden."my::op"',
    ),
    "golden of a function": (
        lambda: flaggems.golden(torch.mm), ValueError, "given <built-in method mm",
    ),
    "golden of None": (lambda: flaggems.golden(None), ValueError, "op holds None"),
    "golden function is none": (
        lambda: flaggems.golden("mm")(3), ValueError, "aten::mm is 3; give a function",
    ),
    "golden of a function's name": (
        lambda: flaggems.golden("torch.mm"), LookupError, 'did you mean "mm"',
    ),
    "golden of several overloads": (
        lambda: flaggems.golden("aten::div"), ValueError, "aten::div.Tensor_mode",
    ),
    "golden of an overload unknown": (
        lambda: flaggems.golden("add.Tensr"), LookupError, "aten::add.Tensor",
    ),
}  # fmt: skip


class ErrorsTest(testutil.PrecisionTestCase):
    def setUp(self) -> None:
        super().setUp()
        # Where a check should begin by mistake.
        os.environ["FLAGGEMS_PRECISION_SUMMARY_AT_EXIT"] = "false"
        self.addCleanup(os.environ.pop, "FLAGGEMS_PRECISION_SUMMARY_AT_EXIT")

    def test_bad_input(self) -> None:
        for name, (action, kind, message) in CASES.items():
            with self.subTest(name):
                with self.assertRaisesRegex(kind, message) as caught:
                    action()
                self.assertIsInstance(caught.exception, flaggems.FlaggemsError)
        self.assertFalse(flaggems.precision_check_enabled())

    def test_former_check_stays(self) -> None:
        self.check()
        with self.assertRaises(OSError):
            flaggems.enable_precision_check(path="/proc/none/precision.log")
        self.assertTrue(flaggems.precision_check_enabled())

    def test_enabled_twice(self) -> None:
        flaggems.only_enable("relu")
        with self.assertRaisesRegex(RuntimeError, "aten::relu"):
            flaggems.enable()
        # Nothing of it stays.
        flaggems.only_enable("mm")

    @unittest.skipIf(torch.cuda.is_available(), "a CUDA device is here")
    def test_no_cuda_device(self) -> None:
        for arguments in ({}, {"device": torch.device("cuda")}):
            with self.assertRaisesRegex(RuntimeError, 'device "cpu"'):
                flaggems.observe(**arguments)

    def test_codes(self) -> None:
        for code, general, opening in [
            ("INVALID_ARGUMENT", ValueError, ValueError),
            ("OUT_OF_RANGE", ValueError, OSError),
            ("NOT_FOUND", LookupError, OSError),
            ("ALREADY_EXISTS", RuntimeError, OSError),
            ("FAILED_PRECONDITION", RuntimeError, OSError),
            ("PERMISSION_DENIED", RuntimeError, OSError),
            ("INTERNAL", RuntimeError, OSError),
            ("of the future", RuntimeError, OSError),
        ]:
            with self.subTest(code):
                self.assertIsInstance(errors.of_status(code, "m"), general)
                self.assertIsInstance(errors.of_opening(code, "m"), opening)
                self.assertEqual(str(errors.of_opening(code, "m")), "m")

    def test_function_unknown_to_the_library(self) -> None:
        with self.assertRaisesRegex(RuntimeError, "of different versions"):
            _library.call("none")

    def test_no_memory(self) -> None:
        with mock.patch.object(_library, "_library") as library:
            library.flaggems_call.return_value = None
            with self.assertRaises(MemoryError):
                _library.call("version")


class OptionTextTest(unittest.TestCase):
    def test_texts(self) -> None:
        home = os.path.expanduser("~")
        for name, value, want in [
            ("log_once", True, "true"),
            ("log_once", False, "false"),
            ("max_checks", 3, "3"),
            ("max_numel", 2**60, str(2**60)),
            ("rtol", 1e-3, "0.001"),
            ("rtol", 1, "1"),
            ("rtol", 0.1 + 0.2, "0.30000000000000004"),
            ("atol", torch.tensor(0.5).item(), "0.5"),
            ("skip", ["mm", "add.Tensor"], "mm,add.Tensor"),
            ("skip", (), ""),
            ("skip", "mm", "mm"),
            ("skip", "mm,add.Tensor", "mm,add.Tensor"),
            ("skip", "", ""),
            ("skip", {"mm"}, "mm"),
            ("no_skip", (name for name in ("mm", "add")), "mm,add"),
            ("no_skip", {"mm": 1, "add": 2}.keys(), "mm,add"),
            ("path", "~/x.log", f"{home}/x.log"),
            ("path", Path("~/x.log"), f"{home}/x.log"),
            ("suppressions", "~/s", f"{home}/s"),
            ("format", "~", "~"),
        ]:
            with self.subTest(name=name, value=value):
                self.assertEqual(_options.texts({name: value}), {name: want})

    def test_what_is_not_given_is_not_passed(self) -> None:
        self.assertEqual(_options.texts({"rtol": None, "path": None}), {})

    def test_numpy_numbers(self) -> None:
        import numpy as np

        for value, want in [
            (np.float64(0.25), "0.25"),
            (np.float32(0.5), "0.5"),
            (np.int64(7), "7"),
        ]:
            self.assertEqual(_options.texts({"rtol": value}), {"rtol": want})


class ImportTest(unittest.TestCase):
    """Imports in a process of their own, with stand-ins for torch."""

    def import_error(self, prologue: str, **variables: str) -> str:
        """The ImportError of `import flaggems` after `prologue`."""
        script = (
            f"import ctypes, sys, types\n{prologue}\n"
            "try:\n"
            "    import flaggems\n"
            "except ImportError as error:\n"
            "    print(type(error).__name__, error)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(done.stdout.splitlines()), 1, done.stdout)
        return done.stdout

    # Fails if anything is loaded.
    STAND_IN = (
        "def no(*args): raise SystemExit('loaded')\n"
        "ctypes.CDLL = no\n"
        "sys.modules['torch'] = types.ModuleType('torch')\n"
        "sys.modules['torch'].ops = types.SimpleNamespace(load_library=no)\n"
    )

    def test_no_torch(self) -> None:
        said = self.import_error("sys.modules['torch'] = None")
        self.assertRegex(said, r"needs torch 2\.11\.0.*pip install torch==2\.11\.0")

    def test_other_torch(self) -> None:
        for version in ("2.10.0", "2.11.1+cpu", "2.11.0a0+git123", "3.0"):
            said = self.import_error(
                f"{self.STAND_IN}\nsys.modules['torch'].__version__ = {version!r}"
            )
            self.assertIn(f"built for torch 2.11.0, and torch is {version}:", said)

    def test_builds_of_the_right_torch(self) -> None:
        for version in ("2.11.0", "2.11.0+cpu", "2.11.0+cu130"):
            with self.assertRaisesRegex(AssertionError, "loaded"):
                self.import_error(
                    f"{self.STAND_IN}\nsys.modules['torch'].__version__ = {version!r}"
                )

    def test_library_named_and_missing(self) -> None:
        said = self.import_error("", FLAGGEMS_LIBRARY="/none/libflaggems.so")
        self.assertIn("FLAGGEMS_LIBRARY=/none/libflaggems.so: there is no", said)

    def copied_package(self) -> Path:
        """A folder to import a copy of the package from."""
        folder = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        package = Path(flaggems.__file__).parent
        # Below the root of no source tree.
        copy = Path(folder) / "flaggems/python/flaggems"
        shutil.copytree(package, copy)
        return copy.parent

    def test_library_missing(self) -> None:
        copy = self.copied_package()
        said = self.import_error("", FLAGGEMS_LIBRARY="", PYTHONPATH=str(copy))
        self.assertIn("bazel build //flaggems/library:libflaggems.so", said)
        self.assertIn(f"{copy}/flaggems/libflaggems.so", said)

    def test_library_of_the_tree(self) -> None:
        copy = self.copied_package()
        built = copy.parents[1] / "bazel-bin/flaggems/library/libflaggems.so"
        built.parent.mkdir(parents=True)
        built.write_text("")
        said = self.import_error("", FLAGGEMS_LIBRARY="", PYTHONPATH=str(copy))
        self.assertIn(f"cannot load {built}: ", said)

    def test_library_of_the_wheel_wins(self) -> None:
        copy = self.copied_package()
        (copy / "flaggems/libflaggems.so").write_text("")
        said = self.import_error("", PYTHONPATH=str(copy))
        self.assertIn(f"cannot load {copy}/flaggems/libflaggems.so: ", said)

    def test_no_library(self) -> None:
        said = self.import_error("", FLAGGEMS_LIBRARY=__file__)
        self.assertRegex(said, f"cannot load {__file__}: .*ELF")

    def test_another_library(self) -> None:
        (libc,) = Path("/lib/x86_64-linux-gnu").glob("libm.so.6")
        said = self.import_error("", FLAGGEMS_LIBRARY=str(libc))
        self.assertIn(f"{libc} is no library of flaggems", said)

    def test_library_of_another_version(self) -> None:
        said = self.import_error(
            "import os, importlib.util\n"
            "sys.modules['flaggems._version'] = types.SimpleNamespace(\n"
            "    __version__='9.9.9', TORCH_VERSION='2.11.0')"
        )
        self.assertRegex(said, r"flaggems is version 9\.9\.9, and .*is version \d")


if __name__ == "__main__":
    unittest.main()
