"""The install tree of `./dev package`: self-contained, usable from C++ by
find_package(Recurra) and from Python, beside torch's and Triton's LLVM.
"""
# SPDX-License-Identifier: Apache-2.0
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TREE = ROOT / "build" / "package"
LIBRARY = TREE / "lib" / "librecurra.so"
# What every Debian 12 with g++ has; no LLVM, no MLIR, no compression libraries.
SYSTEM = {
    "libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "ld-linux-x86-64.so.2",
    "libstdc++.so.6", "libgcc_s.so.1",
}


@pytest.fixture(scope="session", autouse=True)
def tree():
    subprocess.run([ROOT / "dev", "package"], check=True, stdout=subprocess.DEVNULL)


def needed(library):
    listing = subprocess.run(
        ["readelf", "-d", library], check=True, capture_output=True, text=True
    ).stdout
    return set(re.findall(r"NEEDED.*\[(.*)\]", listing))


def opened(program):
    """The libraries that a program loads, by dlopen too, and its output."""
    done = subprocess.run(
        [program], check=True, capture_output=True, text=True,
        env={**os.environ, "LD_DEBUG": "files", "RECURRA_CACHE_DIR": ""},
    )
    return set(re.findall(r"file=(\S+) \[0\];  generating link map", done.stderr)), done.stdout


def built(build, *options):
    """The C++ programs of tests/package/user, built over the tree."""
    source = ROOT / "tests" / "package" / "user"
    subprocess.run(
        ["cmake", "-S", source, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={TREE}",
         "-DCMAKE_CXX_COMPILER=clang++-22", "-DCMAKE_BUILD_TYPE=Release", *options],
        check=True, capture_output=True,
    )
    subprocess.run(["ninja", "-C", build], check=True, capture_output=True)
    return build


@pytest.fixture(scope="session")
def user(tmp_path_factory):
    return built(tmp_path_factory.mktemp("user")) / "user"


def test_library_needs_libc_only():
    assert needed(LIBRARY) <= SYSTEM - {"libstdc++.so.6", "libgcc_s.so.1"}


def test_library_exports_the_door_only():
    listing = subprocess.run(
        ["nm", "-D", "--defined-only", LIBRARY], check=True, capture_output=True, text=True
    ).stdout
    names = [line.split()[-1] for line in listing.splitlines()]
    assert names
    assert [name for name in names if not name.startswith("recurra_")] == []


def test_cpp_user(user):
    libraries, output = opened(user)
    assert output == "1 2 2 4 1 2\n"
    names = {Path(library).name for library in libraries}
    assert "librecurra.so" in names
    assert names - {"librecurra.so"} <= SYSTEM


def test_cpp_user_of_the_torch_ops(tmp_path):
    torch = Path(importlib.util.find_spec("torch").origin).parent
    libraries, output = opened(built(tmp_path, f"-DRECURRA_TORCH_DIR={torch}") / "ops")
    assert output == "1 1 2 2 3 3\n3 3 2 2 1 1\n"
    names = {Path(library).name for library in libraries}
    assert {name for name in names if "recurra" in name} == {"librecurra.so", "librecurra_ops.so"}
    assert [name for name in names if re.search(r"lib(LLVM|MLIR)[-.]", name)] == []


def test_the_user_is_twenty_lines():
    body = (ROOT / "tests" / "package" / "user" / "user.cpp").read_text().split("int main")[1]
    assert len(body.strip().splitlines()) <= 22


def test_python_beside_torch_and_triton(tmp_path):
    done = subprocess.run(
        [sys.executable, Path(__file__).parent / "beside_other_llvms.py"],
        check=True, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(TREE / "python"), "RECURRA_CACHE_DIR": "",
             "TRITON_CACHE_DIR": str(tmp_path)},
    )
    mapped = set(done.stdout.split())
    ours = {path for path in mapped if "recurra" in Path(path).name}
    assert {Path(path).name for path in ours} >= {"librecurra.so", "librecurra_ops.so"}
    assert [path for path in ours if not path.startswith(str(TREE))] == []
    assert "libtriton.so" in {Path(path).name for path in mapped}
    assert [path for path in mapped if re.search(r"lib(LLVM|MLIR)[-.]", path)] == []
