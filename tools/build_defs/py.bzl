"""Tests in Python (Bazel 4.2.3 without rules_python)."""

load("@libtorch//:defs.bzl", "PYTHON")

def requires_python():
    """For target_compatible_with: skipped by //... where libtorch has no Python.

    So it is with a LIBTORCH that is no Python's torch package.
    """
    return [] if PYTHON else [Label("//:incompatible")]

def flaggems_py_test(name, srcs = None, data = [], size = "medium", target_compatible_with = [], **kwargs):
    """A script of unittest that imports flaggems, run by the build's Python.

    Size medium: torch alone takes seconds to import.

    Args:
      name: of the target.
      srcs: one script; <name>.py where none is given.
      data: beside the package and the library.
      size: as every test has it.
      target_compatible_with: further constraints.
      **kwargs: what sh_test has.
    """
    script = (srcs or [name + ".py"])[0]
    native.sh_test(
        name = name,
        srcs = [Label("//tools/build_defs:run_python_test.sh")],
        args = [
            PYTHON or "none",
            "$(rootpath %s)" % script,
        ],
        data = data + [
            script,
            Label("//flaggems/library:libflaggems.so"),
            Label("//flaggems/python:package"),
        ],
        size = size,
        target_compatible_with = requires_python() + target_compatible_with,
        **kwargs
    )
