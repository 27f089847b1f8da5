"""What the README shows runs, and what it lists is there."""
# SPDX-License-Identifier: Apache-2.0
import json
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
TEXT = (ROOT / "README.md").read_text()
MAIN = """
#include "dsl/dsl.h"
#include "ops/Ops.h"
#include <ATen/ATen.h>
#include <cstdio>
int main() {
  at::Tensor x = at::ones({2, 100, 4, 16}), g = -at::ones({2, 100, 4});
  %s
  std::printf("%%d\\n", int(result.outputs[0].size(1)));
}
"""


def block(language):
    return re.search(rf"```{language}\n(.*?)```", TEXT, re.S).group(1)


def test_the_python_example_runs(tmp_path):
    file = tmp_path / "example.py"
    file.write_text(block("python"))
    done = subprocess.run([sys.executable, file], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "rec.scan" in done.stdout


def test_the_cpp_example_runs(tmp_path):
    torch = Path(sysconfig.get_paths()["purelib"]) / "torch"
    source, program = tmp_path / "example.cpp", tmp_path / "example"
    source.write_text(MAIN % block("cpp"))
    libraries = [torch / "lib", BUILD / "lib"]
    subprocess.run(
        ["clang++-22", "-std=c++20", "-O0", "-fuse-ld=lld", f"-I{ROOT}", f"-isystem{torch}/include",
         source, "-o", program, BUILD / "lib/librecurra_ops.so", BUILD / "dsl/librecurraDsl.a",
         *(f"-Wl,-rpath,{folder}" for folder in libraries), f"-L{torch}/lib",
         "-ltorch", "-ltorch_cpu", "-lc10"],
        check=True,
    )
    done = subprocess.run([program], capture_output=True, text=True)
    assert done.stdout == "100\n", done.stderr


def test_the_catalogue_is_the_readmes():
    shown = re.findall(r"`(\w+)` \| (\d\w?) \| ([\w, ]+?) \|", TEXT)
    listed = json.loads(
        subprocess.run([BUILD / "bin/recurra", "list", "--json"], check=True, capture_output=True).stdout
    )
    assert sorted(shown) == sorted((r["name"], r["class"], ", ".join(r["states"])) for r in listed)


def test_the_rooms_are_there():
    for room in re.findall(r"^\| `(\w+)/` \|", TEXT, re.M):
        assert (ROOT / room).is_dir()
    prose = re.sub(r"(?s)```.*?```", "", TEXT)
    for target in re.findall(r"\]\(([^)]+)\)", prose):
        assert (ROOT / target).exists(), target
