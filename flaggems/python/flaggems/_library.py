"""Finds and loads libflaggems.so, and calls its functions.

The library has two C functions over JSON (flaggems/library) and knows nothing
of Python, so one library serves every version of Python. It is loaded when
this module is imported, not when it is first used: what torch has for the CPU
at that moment is what later kernels are judged by.

A call lets go of the interpreter's lock, and no lock of this package is held
while the library runs: kernels written in Python may run meanwhile.
"""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from flaggems import errors
from flaggems._version import TORCH_VERSION, __version__

_NAME: Final = "libflaggems.so"
_VARIABLE: Final = "FLAGGEMS_LIBRARY"


def _import_torch() -> Any:
    """torch, of the version that the library is built for; else ImportError."""
    try:
        import torch
    except ImportError as error:
        raise ImportError(
            f"flaggems needs torch {TORCH_VERSION}, and torch cannot be imported "
            f"({error}): pip install torch=={TORCH_VERSION}"
        ) from error
    found = str(torch.__version__)
    # "2.11.0+cpu" and "2.11.0+cu130" are builds of one release.
    if found.partition("+")[0] != TORCH_VERSION:
        raise ImportError(
            f"this flaggems is built for torch {TORCH_VERSION}, and torch is {found}: "
            f"pip install torch=={TORCH_VERSION}, or build flaggems with this torch"
        )
    return torch


def _find() -> Path:
    """The library to load: a wheel's, else $FLAGGEMS_LIBRARY, else the tree's."""
    package = Path(__file__).parent
    in_wheel = package / _NAME
    if in_wheel.exists():
        return in_wheel
    named = os.environ.get(_VARIABLE)
    if named:
        if not Path(named).exists():
            raise ImportError(
                f"{_VARIABLE}={named}: there is no such file; set it to a built "
                f"{_NAME}, or unset it"
            )
        return Path(named)
    # <root>/flaggems/python/flaggems/_library.py
    in_tree = package.parents[2] / "bazel-bin/flaggems/library" / _NAME
    if in_tree.exists():
        return in_tree
    raise ImportError(
        f"flaggems has no {_NAME}: neither {in_wheel} nor {in_tree} is there. In a "
        f"source tree, build it with ./tools/bazel build //flaggems/library:{_NAME}; "
        f"or set {_VARIABLE} to a built one; or install the wheel"
    )


def _load(path: Path) -> ctypes.CDLL:
    torch = _import_torch()
    try:
        torch.ops.load_library(str(path))
        library = ctypes.CDLL(str(path))
    except OSError as error:
        reason = error.__cause__ or error
        raise ImportError(f"cannot load {path}: {reason}", path=str(path)) from error
    try:
        library.flaggems_call.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
        # Not c_char_p, which would lose the address that is to be freed.
        library.flaggems_call.restype = ctypes.c_void_p
        library.flaggems_free.argtypes = [ctypes.c_void_p]
        library.flaggems_free.restype = None
    except AttributeError as error:
        raise ImportError(
            f"{path} is no library of flaggems: {error}", path=str(path)
        ) from error
    return library


def call(
    name: str,
    arguments: dict[str, Any] | None = None,
    *,
    error_of: Callable[[str, str], Exception] = errors.of_status,
) -> Any:
    """What a function of the library returns; flaggems/library lists them.

    Args:
      name: of the function.
      arguments: what JSON can hold.
      error_of: makes the exception of a status's code and message.

    Thread-safe.
    """
    address = _library.flaggems_call(
        name.encode(), json.dumps(arguments or {}).encode()
    )
    if not address:
        raise MemoryError(f"flaggems: no memory for the result of {name}")
    try:
        answer = json.loads(ctypes.string_at(address))
    finally:
        _library.flaggems_free(address)
    if "error" in answer:
        raise error_of(answer["error"]["code"], answer["error"]["message"])
    return answer["result"]


def _check_version(path: Path) -> None:
    built = call("version", error_of=lambda code, message: ImportError(message))
    if built["flaggems"] != __version__:
        raise ImportError(
            f"the package flaggems is version {__version__}, and {path} is version "
            f"{built['flaggems']}: build or install both together",
            path=str(path),
        )


_path: Final = _find()
_library: Final = _load(_path)
_check_version(_path)
