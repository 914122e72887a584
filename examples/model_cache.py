"""Where the example scripts keep the models they make.

A model's folder is named by all that decides what is in it: the versions of
the packages that make it and the script itself. It appears whole or not at
all, so a killed script leaves nothing half-made.
"""

import hashlib
import importlib.metadata
import importlib.util
import os
import pathlib
import shutil
import sys
import tempfile


def cache_folder():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(base) / "flaggems" / "models"


def package_folder(module):
    """The folder of an installed package, without importing it."""
    spec = importlib.util.find_spec(module)
    if spec is None:
        sys.exit(
            f"{sys.argv[0]}: this Python ({sys.executable}) has no {module}: unset "
            "LIBTORCH and FLAGGEMS_PYTHON and run tools/setup, or install the "
            "packages of tools/setup.d/requirements*.txt"
        )
    return pathlib.Path(spec.submodule_search_locations[0])


def cached(name, script, distributions, make):
    """Returns the folder of a model, made by make(folder) if it is not there.

    name           starts the folder's name
    script         the file whose text decides what is made
    distributions  names of the installed packages that decide it too
    """
    for distribution in distributions:
        try:
            importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            package_folder(distribution.replace("-", "_"))  # says what to do
            raise
    versions = "-".join(
        f"{d}-{importlib.metadata.version(d)}" for d in distributions
    )
    digest = hashlib.sha256(pathlib.Path(script).read_bytes()).hexdigest()[:10]
    folder = cache_folder() / f"{name}-{versions}-{digest}"
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    print(f"{name}: making the model in {folder}", file=sys.stderr)
    partial = tempfile.mkdtemp(prefix=f".{name}-", dir=folder.parent)
    try:
        make(pathlib.Path(partial))
        try:
            os.rename(partial, folder)
        except OSError:
            # Another run was faster; its folder holds the same.
            if not folder.is_dir():
                raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return folder
