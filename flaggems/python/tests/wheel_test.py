"""What is in the wheel. Whether it works, installed, is installed_wheel.py."""

from __future__ import annotations

import base64
import email
import hashlib
import re
import subprocess
import tempfile
import unittest
import zipfile
from pathlib import Path

from flaggems import _version


class WheelTest(unittest.TestCase):
    def setUp(self) -> None:
        (path,) = Path("flaggems/python").glob("*.whl")
        self.name = path.name
        self.wheel = zipfile.ZipFile(path)
        self.addCleanup(self.wheel.close)
        self.info = f"flaggems-{_version.__version__}.dist-info"

    def dynamic(self, names: list[str]) -> dict[str, str]:
        """readelf -d of libraries in the wheel."""
        with tempfile.TemporaryDirectory() as folder:
            return {
                name: subprocess.run(
                    ["readelf", "-d", self.wheel.extract(name, folder)],
                    capture_output=True,
                    text=True,
                    check=True,
                ).stdout
                for name in names
            }

    def libraries(self) -> list[str]:
        return [name for name in self.wheel.namelist() if ".so" in name]

    def test_name(self) -> None:
        self.assertEqual(
            self.name, f"flaggems-{_version.__version__}-py3-none-linux_x86_64.whl"
        )

    def test_package(self) -> None:
        package = Path("flaggems/python/flaggems")
        sources = {
            f"flaggems/{path.name}"
            for path in package.iterdir()
            if path.suffix in (".py", ".typed")
        }
        self.assertIn("flaggems/py.typed", sources)
        packed = {
            name for name in self.wheel.namelist() if name.startswith("flaggems/")
        }
        self.assertEqual(packed - set(self.libraries()), sources)
        for name in sources:
            self.assertEqual(
                self.wheel.read(name), (package.parent / name).read_bytes(), name
            )

    def test_record(self) -> None:
        lines = self.wheel.read(f"{self.info}/RECORD").decode().splitlines()
        listed = {}
        for line in lines:
            name, digest, size = line.rsplit(",", 2)
            listed[name] = digest, size
        self.assertEqual(list(listed), self.wheel.namelist())
        self.assertEqual(listed.pop(f"{self.info}/RECORD"), ("", ""))
        for name, (digest, size) in listed.items():
            data = self.wheel.read(name)
            want = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
            self.assertEqual(digest, "sha256=" + want.decode().rstrip("="), name)
            self.assertEqual(int(size), len(data), name)

    def test_metadata(self) -> None:
        metadata = email.message_from_bytes(self.wheel.read(f"{self.info}/METADATA"))
        self.assertEqual(metadata["Name"], "flaggems")
        self.assertEqual(metadata["Version"], _version.__version__)
        self.assertEqual(metadata["Requires-Dist"], f"torch=={_version.TORCH_VERSION}")
        self.assertEqual(metadata["License"], "Apache-2.0")
        self.assertIn("import flaggems", metadata.get_payload())
        tags = email.message_from_bytes(self.wheel.read(f"{self.info}/WHEEL"))
        self.assertEqual(tags["Tag"], "py3-none-linux_x86_64")
        self.assertEqual(tags["Root-Is-Purelib"], "false")

    def test_licences(self) -> None:
        metadata = email.message_from_bytes(self.wheel.read(f"{self.info}/METADATA"))
        names = metadata.get_all("License-File")
        self.assertIn("LICENSE", names)
        text = b"".join(
            self.wheel.read(f"{self.info}/licenses/{each}") for each in names
        )
        for words in (
            b"Apache License",
            b"Google Inc",
            b"abseil",
            b"gflags",
            b"unwind",
        ):
            self.assertIn(words.lower(), text.lower())

    def test_no_path_of_this_machine(self) -> None:
        dynamic = self.dynamic(self.libraries())
        for name, text in dynamic.items():
            (rpath,) = re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", text)
            in_lib = name.startswith("flaggems/lib/")
            expected = "$ORIGIN" if in_lib else (
                "$ORIGIN/lib:$ORIGIN/../nvidia/cu13/lib:$ORIGIN/../nvidia/cudnn/lib"
            )
            self.assertEqual(rpath, expected, name)
            self.assertNotIn("RUNPATH", text)

    def test_what_is_needed_is_there(self) -> None:
        carried = {Path(name).name for name in self.libraries()}
        self.assertIn("libflaggems.so", carried)
        used = {"libflaggems.so"}
        for name, text in self.dynamic(self.libraries()).items():
            (soname,) = re.findall(r"\(SONAME\).*\[(.*)\]", text) or [Path(name).name]
            self.assertEqual(soname, Path(name).name)
            for needed in re.findall(r"\(NEEDED\).*\[(.*)\]", text):
                if needed in carried:
                    used.add(needed)
                else:
                    self.assertRegex(
                        needed,
                        r"^(ld-linux-x86-64|lib(c|m|dl|rt|util|pthread|stdc\+\+|gcc_s"
                        r"|gomp|torch|torch_cpu|torch_cuda|c10|c10_cuda|cublasLt|cudart|cudnn|nvrtc))\.so",
                        name,
                    )
        self.assertEqual(used, carried)


if __name__ == "__main__":
    unittest.main()
