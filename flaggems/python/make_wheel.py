#!/usr/bin/env python3
"""Packs the package, libflaggems.so and what it needs into a wheel.

usage: make_wheel.py --out=WHEEL --library=FILE --license=FILE PACKAGE_FILE...

WHEEL's name gives version and tags. Beside the package come

  flaggems/libflaggems.so   found by flaggems/_library.py
  flaggems/lib/             the shared libraries it needs, but for those that
                            every system or torch has (see PROVIDED)

The libraries in flaggems/lib are the system's, under names of their own, so that
neither the copies of another package nor the system's are taken for them. No
path of this machine stays in any of them. Their licences are in the wheel.

The same input gives the same bytes. Needs patchelf and ldd.
"""

import argparse
import ast
import base64
import hashlib
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

# Shared libraries that are not carried along: what their names match, and who
# brings them.
PROVIDED = [
    (r"ld-linux-x86-64\.so\.2", "the system, glibc"),
    (r"lib(c|m|dl|rt|util|pthread)\.so\.\d", "the system, glibc"),
    # A second copy in a process would be two registries of exceptions and types.
    (r"lib(stdc\+\+|gcc_s)\.so\.\d", "the system; torch needs them, too"),
    (r"lib(torch|c10).*\.so", "torch"),
    # A second copy would be a second pool of threads.
    (r"libgomp\.so\.1", "torch"),
    (r"lib(cublasLt|cudart|cudnn|nvrtc)\.so\.\d+", "CUDA packages that torch needs"),
]

# Where those are, seen from the library.
CUDA_RPATH = "$ORIGIN/../nvidia/cu13/lib:$ORIGIN/../nvidia/cudnn/lib"

SUMMARY = "Checks the numbers of PyTorch's operator kernels while a program runs"


def fail(message):
    sys.exit(f"make_wheel.py: {message}")


def output_of(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        fail(f"there is no program {command[0]}: run tools/setup")
    if done.returncode != 0:
        fail(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout


def needed_by(library):
    return output_of("patchelf", "--print-needed", library).split()


def is_provided(name):
    return any(re.fullmatch(pattern, name) for pattern, _ in PROVIDED)


def found_by_loader(library):
    """Where the dynamic loader finds each library that `library` needs."""
    return dict(re.findall(r"^\s*(\S+) => (/\S+)", output_of("ldd", library), re.M))


def carried_by(library):
    """The libraries to carry: names, and the files they are here."""
    found = found_by_loader(library)
    carried = {}
    names = needed_by(library)
    while names:
        name = names.pop()
        if name in carried or is_provided(name):
            continue
        if name not in found:
            fail(f"the dynamic loader does not find {name}, which {library} needs")
        carried[name] = pathlib.Path(found[name]).resolve()
        names += needed_by(carried[name])
    return carried


def name_in_wheel(name, file):
    """libglog.so.1 -> libglog-1a2b3c4d.so.1, by its content."""
    digest = hashlib.sha256(file.read_bytes()).hexdigest()[:8]
    stem, _, version = name.partition(".so")
    return f"{stem}-{digest}.so{version}"


def relocate(source, target, names, rpath):
    """Copies a library; what it needs has other names and is found by rpath."""
    shutil.copyfile(source, target)
    target.chmod(0o755)
    # One change a run: patchelf 0.14 mixes the texts of several up.
    for name in needed_by(source):
        if name in names:
            output_of("patchelf", "--replace-needed", name, names[name], target)
    if target.name in names.values():
        output_of("patchelf", "--set-soname", target.name, target)
    output_of("patchelf", "--force-rpath", "--set-rpath", rpath, target)


def licences_of(library_files):
    """The licences of the Debian packages that files belong to, by name."""
    # /lib is a link to /usr/lib; packages list their files under either.
    paths = {str(file): file for file in library_files}
    paths.update({path.removeprefix("/usr"): file for path, file in paths.items()})
    licences = {}
    unknown = set(library_files)
    if shutil.which("dpkg"):
        # Fails for each path that is in no package, and tells the others.
        listed = subprocess.run(
            ["dpkg", "-S", *paths], capture_output=True, text=True, check=False
        ).stdout
        for line in listed.splitlines():
            packages, _, path = line.partition(": ")
            package = packages.partition(":")[0]
            text = pathlib.Path("/usr/share/doc", package, "copyright")
            if path in paths and text.exists():
                licences[f"{package}.copyright"] = text.read_bytes()
                unknown.discard(paths[path])
    for file in sorted(unknown):
        print(
            f"make_wheel.py: the licence of {file} is not known (no Debian package "
            "has it) and is not in the wheel",
            file=sys.stderr,
        )
    return licences


def constants_of(source):
    """The texts that a module assigns to names."""
    return {
        statement.target.id: statement.value.value
        for statement in ast.parse(source).body
        if isinstance(statement, ast.AnnAssign)
        and isinstance(statement.value, ast.Constant)
    }


def metadata(versions, description, licences):
    lines = [
        "Metadata-Version: 2.1",
        "Name: flaggems",
        f"Version: {versions['__version__']}",
        f"Summary: {SUMMARY}",
        "License: Apache-2.0",
        *(f"License-File: {name}" for name in licences),
        "Classifier: License :: OSI Approved :: Apache Software License",
        "Classifier: Operating System :: POSIX :: Linux",
        "Classifier: Typing :: Typed",
        "Requires-Python: >=3.10",
        f"Requires-Dist: torch=={versions['TORCH_VERSION']}",
        "Description-Content-Type: text/markdown",
        "",
        description,
        "",
    ]
    return "\n".join(lines).encode()


def libraries_of(library, license_file):
    """The files of flaggems/ and of licenses/ that are not the package's own."""
    with tempfile.TemporaryDirectory() as folder:
        carried = carried_by(library)
        names = {name: name_in_wheel(name, file) for name, file in carried.items()}
        target = pathlib.Path(folder, library.name)
        relocate(library, target, names, "$ORIGIN/lib:" + CUDA_RPATH)
        files = {library.name: target.read_bytes()}
        for name, file in carried.items():
            target = pathlib.Path(folder, names[name])
            relocate(file, target, names, "$ORIGIN")
            files[f"lib/{target.name}"] = target.read_bytes()
        licences = {
            "LICENSE": license_file.read_bytes(),
            **licences_of(carried.values()),
        }
        return files, licences


def write_wheel(out, files, dist_info):
    """A zip of `files`, with the list of their hashes, in a fixed order."""
    record = f"{dist_info}/RECORD"
    lines = []
    # What pip reads first comes last, as wheels have it.
    names = sorted(files, key=lambda name: (name.startswith(dist_info), name))
    for name in names:
        digest = base64.urlsafe_b64encode(hashlib.sha256(files[name]).digest())
        lines.append(
            f"{name},sha256={digest.rstrip(b'=').decode()},{len(files[name])}\n"
        )
    lines.append(f"{record},,\n")
    files = {**files, record: "".join(lines).encode()}
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name in [*names, record]:
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            mode = 0o755 if ".so" in pathlib.Path(name).name else 0o644
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, files[name])


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--library", required=True, type=pathlib.Path)
    parser.add_argument("--license", required=True, type=pathlib.Path)
    parser.add_argument("package", nargs="+", type=pathlib.Path)
    args = parser.parse_args()

    files = {
        f"flaggems/{path.as_posix().rpartition('/flaggems/')[2]}": path.read_bytes()
        for path in args.package
    }
    versions = constants_of(files["flaggems/_version.py"])
    name, version, *tags = args.out.stem.split("-")
    if (name, version) != ("flaggems", versions["__version__"]):
        fail(
            f"{args.out.name} is to be made, and flaggems/_version.py says "
            f"{versions['__version__']}: set both to one version"
        )
    dist_info = f"flaggems-{version}.dist-info"
    libraries, licences = libraries_of(args.library, args.license)
    files.update({f"flaggems/{name}": data for name, data in libraries.items()})
    files.update(
        {f"{dist_info}/licenses/{name}": data for name, data in licences.items()}
    )
    description = ast.get_docstring(ast.parse(files["flaggems/__init__.py"]))
    files[f"{dist_info}/METADATA"] = metadata(versions, description, licences)
    files[f"{dist_info}/WHEEL"] = (
        "Wheel-Version: 1.0\n"
        "Generator: flaggems make_wheel.py\n"
        "Root-Is-Purelib: false\n"
        f"Tag: {'-'.join(tags)}\n"
    ).encode()
    write_wheel(args.out, files, dist_info)


if __name__ == "__main__":
    main()
