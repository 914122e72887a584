#!/usr/bin/env python3
"""Installs the wheel in a fresh venv and uses it there.

usage: ./tools/python flaggems/python/tests/installed_wheel.py WHEEL

The venv gets torch and what torch needs as files of the build's venv, each a
hard link (a copy where that cannot be): what pip would have unpacked, without
4.7 GB to download and to write. The rest is pip's work: its installer, its
resolver, `pip check`. The programs that are run there see nothing of the build,
no variable and no folder but their own: those of README.md, "In Python" and "On
a GPU", which must print or log what is shown there, and one that looks at every
library it has loaded. Where torch sees no CUDA device, the program of "On a GPU"
runs on the CPU, its kernel in Triton's interpreter.
"""

import importlib.metadata
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from packaging.requirements import Requirement

PROGRAM = """
import pathlib
import sys
import torch
import flaggems

flaggems.enable_precision_check(profile="strict", path="precision.log")
flaggems.observe(device="cpu")
torch.manual_seed(1)
model = torch.nn.Sequential(
    torch.nn.Embedding(100, 32),
    torch.nn.TransformerEncoderLayer(32, 4, 64, batch_first=True),
    torch.nn.Linear(32, 10),
    torch.nn.LogSoftmax(-1),
).eval()
with torch.no_grad():
    model(torch.arange(24).view(2, 12))
print(flaggems.summary_table())

summary = flaggems.summary()
assert sum(op["passed"] for op in summary) > 30, summary
assert not any(op["failed"] or op["errors"] for op in summary), summary
assert open("precision.log").read() == ""

# A wrong kernel is told.
flaggems.disable()
library = torch.library.Library("aten", "IMPL")
library.impl("relu", lambda x: torch.clamp_min(x, -1), "CPU")
flaggems.observe("relu", device="cpu")
torch.tensor([-3.0, 3.0]).relu()
(relu,) = [op for op in flaggems.summary() if op["op"] == "relu"]
assert relu["failed"] == 1, relu
(line,) = open("precision.log")
assert " Op: relu | FAIL | " in line and "worst=(0,) got=-1 want=0" in line, line
print(line)

# flaggems' own kernels.
flaggems.disable()
flaggems.enable(registrar=flaggems.PrecisionCheckRegister)
torch.ones(3).exp()
flaggems.disable_precision_check()

venv = sys.argv[1] + "/"
assert flaggems.__file__.startswith(venv), flaggems.__file__
loaded = {line.split(maxsplit=5)[5].strip() for line in open("/proc/self/maps")
          if ".so" in line}
carried = {path for path in loaded if "/flaggems/lib/" in path}
in_wheel = {str(path) for path in pathlib.Path(flaggems.__file__).parent.glob("lib/*")}
assert carried and carried == in_wheel, carried ^ in_wheel
for path in loaded:
    # Of the system, what Python and glibc are made of.
    ours = any(word in path for word in ("absl", "glog", "gflags", "unwind", "torch"))
    assert path.startswith(venv if ours else (venv, "/usr/", "/lib/")), path
print(f"{len(carried)} libraries of the wheel are loaded, and none of the build's")
"""


def needed(name, extras=(), found=None):
    """An installed package and, in turn, what it requires."""
    found = {} if found is None else found
    if (name, extras) in found:
        return found
    distribution = importlib.metadata.distribution(name)
    found[name, extras] = distribution
    for text in distribution.requires or []:
        requirement = Requirement(text)
        if requirement.marker is None or any(
            requirement.marker.evaluate({"extra": extra}) for extra in ("", *extras)
        ):
            needed(requirement.name, tuple(sorted(requirement.extras)), found)
    return found


def link(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists():
        return
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def link_packages(name, site_packages):
    """A package and what it needs; returns how many."""
    packages = {each.name: each for each in needed(name).values()}
    for distribution in packages.values():
        for file in distribution.files:
            # Scripts lie elsewhere; bytecode is no part of a package.
            if ".." not in file.parts and file.suffix != ".pyc":
                link(file.locate(), site_packages / file)
    return len(packages)


def section_of_readme(title):
    readme = pathlib.Path(__file__).resolve().parents[3] / "README.md"
    return readme.read_text().partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def programs_of(section):
    """Those that use flaggems; others are Bazel's."""
    blocks = re.findall(r"^```python\n(.*?)^```", section, re.M | re.S)
    return [block for block in blocks if "import flaggems" in block]


def logged_in(section):
    return re.findall(r"^    (.* Op: .*)", section, re.M)


def check_log(log, shown):
    """Compares without the time and what depends on the processor."""

    def stable(line):
        return re.sub(r"^[^[]*|(score|got)=\S+|\| max_.*?(?=\| reason)", "", line)

    if stable(log.read_text().rstrip("\n")) != stable(shown):
        sys.exit(f"README.md shows\n{shown}\nand the program logs\n{log.read_text()}")


def check_readme(run_program, log):
    """Runs the programs of README.md, "In Python"; what it shows must come out."""
    section = section_of_readme("In Python")
    model, *wrong_kernels = programs_of(section)
    (table,) = re.findall(r"^    op  .*\n(?:    .*\n)+", section, re.M)
    logged = logged_in(section)
    if not wrong_kernels or len(wrong_kernels) != len(logged):
        sys.exit("README.md does not show one line of the log for each wrong kernel")

    printed = run_program(model).splitlines()
    for line in table.splitlines():
        if line.strip() not in map(str.strip, printed):
            sys.exit(f"README.md shows this line, and the program does not:\n{line}")
    if log.read_text():
        sys.exit(f"README.md calls this log empty:\n{log.read_text()}")

    for wrong_kernel, shown in zip(wrong_kernels, logged):
        run_program(wrong_kernel)
        check_log(log, shown)


def check_readme_on_a_gpu(run_program, has_device, log):
    """The same of "On a GPU", on the CPU where there is none."""
    section = section_of_readme("On a GPU")
    (program,) = programs_of(section)
    (shown,) = logged_in(section)
    variables = {}
    if not has_device:
        print('torch sees no CUDA device: "On a GPU" runs on the CPU', flush=True)
        program = program.replace('"cuda"', '"cpu"').replace('"CUDA"', '"CPU"')
        variables["TRITON_INTERPRET"] = "1"
    printed = run_program(program, **variables)
    check_log(log, shown)
    warning = "reference is device, and all calls are checked on the CPU"
    if printed.count(warning) != (0 if has_device else 1):
        sys.exit(f"installed_wheel.py: wants {warning!r} where there is no device")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    wheel = pathlib.Path(sys.argv[1]).resolve()
    # Beside the build's venv, since hard links stay on one file system.
    near = pathlib.Path(sys.prefix).parent
    where = near if os.access(near, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="wheel-venv-", dir=where) as folder:
        folder = pathlib.Path(folder).resolve()
        venv, work = folder / "venv", folder / "work"
        work.mkdir()
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(work), "LANG": "C.UTF-8"}

        def run(*command, **variables):
            done = subprocess.run(
                command,
                cwd=work,
                env={**environment, **variables},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            print(done.stdout, end="", flush=True)
            if done.returncode != 0:
                words = " ".join(map(str, command))
                sys.exit(f"installed_wheel.py: exit code {done.returncode}: {words}")
            return done.stdout

        def run_program(text, **variables):
            program = work / "program.py"
            program.write_text(text)
            return run(python, "-I", program, venv, **variables)

        run(sys.executable, "-m", "venv", venv)
        python = venv / "bin/python3"
        (site_packages,) = venv.glob("lib/python3*/site-packages")
        count = link_packages("torch", site_packages)
        print(f"{venv}: torch and {count - 1} packages that it needs", flush=True)
        pip = [python, "-I", "-m", "pip", "--disable-pip-version-check"]
        run(*pip, "install", "--no-index", "--quiet", wheel)
        run(*pip, "check")
        check_readme(run_program, work / "precision.log")
        run_program(PROGRAM)
        asked = run_program("import torch; print(torch.cuda.is_available())")
        # Triton's interpreter needs it; flaggems and torch do not.
        link_packages("numpy", site_packages)
        check_readme_on_a_gpu(run_program, "True" in asked, work / "precision.log")


if __name__ == "__main__":
    main()
