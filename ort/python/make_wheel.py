#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_wheel.py - the wheel onnxruntime-ep-hone: the module beside this file with libhone_ort.so in it. Needs Python alone.
The platform tag says which glibc the library was linked against (PEP 600). The same input gives the same bytes.
usage: ort/python/make_wheel.py LIBRARY FOLDER"""
import base64
import hashlib
import pathlib
import platform
import re
import stat
import subprocess
import sys
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
MODULE = "onnxruntime_ep_hone"
MOMENT = (1980, 1, 1, 0, 0, 0)


def version():
    found = re.search(r'^__version__ = "(.+)"$', (HERE / MODULE / "__init__.py").read_text(), re.M)
    return found.group(1)


def stripped(library, folder):
    """Without symbols for debuggers, where there is a tool for it."""
    smaller = folder / "libhone_ort.stripped"
    try:
        subprocess.run(["strip", "--strip-unneeded", "-o", str(smaller), str(library)], check=True, capture_output=True)
        return smaller.read_bytes()
    except (OSError, subprocess.CalledProcessError):
        return library.read_bytes()
    finally:
        smaller.unlink(missing_ok=True)


def platform_tag(library):
    """manylinux_2_34_x86_64: the newest glibc that a symbol of it asks for."""
    versions = {(int(a), int(b)) for a, b in re.findall(rb"GLIBC_(\d+)\.(\d+)", library)}
    machine = platform.machine()
    return f"manylinux_{max(versions)[0]}_{max(versions)[1]}_{machine}" if versions else f"linux_{machine}"


def metadata(number):
    return (f"Metadata-Version: 2.1\nName: onnxruntime-ep-hone\nVersion: {number}\n"
            "Summary: hone as an execution provider of ONNX Runtime\nLicense: Apache-2.0\nRequires-Python: >=3.9\n"
            "Classifier: License :: OSI Approved :: Apache Software License\n"
            "Classifier: Operating System :: POSIX :: Linux\nDescription-Content-Type: text/markdown\n\n"
            + (HERE / "README.md").read_text())


def write(path, files):
    """A zip file with a RECORD of all that is in it."""
    info = next(name for name in files if name.endswith("/METADATA")).rsplit("/", 1)[0]
    record = ""
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(data)}\n"
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    made = path.with_suffix(".tmp")
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, MOMENT)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(entry, data)
    made.replace(path)


def main(library, folder):
    folder.mkdir(parents=True, exist_ok=True)
    number, data = version(), stripped(library, folder)
    tag = f"py3-none-{platform_tag(data)}"
    info = f"{MODULE}-{number}.dist-info"
    files = {**{f"{MODULE}/{path.name}": path.read_bytes() for path in sorted((HERE / MODULE).glob("*.py"))},
             f"{MODULE}/libhone_ort.so": data,
             f"{info}/METADATA": metadata(number).encode(),
             f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: hone\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(),
             f"{info}/licenses/LICENSE": (HERE.parents[1] / "LICENSE").read_bytes()}
    path = folder / f"{MODULE}-{number}-{tag}.whl"
    write(path, files)
    print(path)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
