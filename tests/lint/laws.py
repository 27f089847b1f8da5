"""The laws of the house that a script can check, one function each.

A law takes a tree ({path: text}) and returns its violations as lines.
"""
# SPDX-License-Identifier: Apache-2.0
import ast
import re
from pathlib import PurePosixPath

CODE = (".cpp", ".h", ".py", ".td")
ROOMS = ("dsl", "compiler", "runtime", "ops", "models", "cli")
MAX_LINES = {".h": 120, ".cpp": 600, ".py": 600}
MAX_FUNCTION = 60
MAX_README = 60


def _files(tree, *suffixes):
    return sorted(p for p in tree if PurePosixPath(p).suffix in suffixes)


def _room(path):
    """The room of a file; the catalogue's definitions are one of their own."""
    if path.startswith("ops/catalogue/"):
        return "catalogue"
    first = path.split("/", 1)[0]
    return first if first in ROOMS else None


def file_length(tree):
    bad = []
    for path in _files(tree, *MAX_LINES):
        limit = MAX_LINES[PurePosixPath(path).suffix]
        lines = tree[path].count("\n")
        if lines > limit:
            bad.append(f"{path}: {lines} lines, at most {limit}; split it by concept")
    return bad


def readme_length(tree):
    return [
        f"{path}: {tree[path].count(chr(10))} lines, at most {MAX_README}"
        for path in tree
        if path.count("/") == 1
        and path.endswith("/README.md")
        and tree[path].count("\n") > MAX_README
    ]


def _blank(text):
    """C++ with comments, literals and preprocessor lines blanked out, line
    structure kept."""
    pattern = re.compile(
        r'R"(\w*)\(.*?\)\1"|//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"'
        r"|'(?:\\.|[^'\\\n])+'|^[ \t]*#(?:\\\n|[^\n])*",
        re.S | re.M,
    )
    return pattern.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


# What may open a block of code that is no function.
_NO_FUNCTION = re.compile(
    r"\b(namespace|class|struct|union|enum|extern|if|for|while|switch|do|else|try|catch)\b"
)


def _cpp_functions(text):
    """(first line, line count) of every function body, by matching braces."""
    code = _blank(text)
    depth, start, inside = 0, 0, None
    for match in re.finditer(r"[{};]", code):
        mark = match.group()
        if mark == "{":
            head = code[start : match.start()]
            is_function = (
                ")" in head and "=" not in head.split("(")[0]
            ) and not _NO_FUNCTION.search(head.split("(")[0])
            if inside is None and is_function:
                inside = (depth, match.start())
            depth += 1
        elif mark == "}":
            depth -= 1
            if inside and depth == inside[0]:
                first = code.count("\n", 0, inside[1]) + 1
                yield first, code.count("\n", 0, match.start()) + 1 - first
                inside = None
        start = match.end()


def function_length(tree):
    bad = []
    for path in _files(tree, ".cpp", ".h"):
        for line, length in _cpp_functions(tree[path]):
            if length > MAX_FUNCTION:
                bad.append(f"{path}:{line}: function of {length} lines, at most {MAX_FUNCTION}")
    for path in _files(tree, ".py"):
        for node in ast.walk(ast.parse(tree[path])):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                length = node.end_lineno - node.lineno + 1
                if length > MAX_FUNCTION:
                    bad.append(
                        f"{path}:{node.lineno}: function of {length} lines, at most {MAX_FUNCTION}"
                    )
    return bad


def opening(tree):
    """A comment of purpose, at most five lines, and the licence."""
    bad = []
    for path in _files(tree, *CODE):
        text = tree[path]
        if not text.strip():
            continue
        if not re.match(r'(#!.*\n)?(//|/\*|#|"""|r""")', text):
            bad.append(f"{path}:1: no comment of purpose at the top")
        head = "\n".join(text.split("\n")[:14])
        if "SPDX-License-Identifier: Apache-2.0" not in head:
            bad.append(f"{path}:1: no SPDX-License-Identifier line")
    return bad


def names(tree):
    pattern = re.compile(r"(utils?|common|helpers?|misc)$", re.I)
    return [
        f"{path}: name it by its concept, not Utils, Common or Helpers"
        for path in tree
        if pattern.search(PurePosixPath(path).stem)
    ]


def todo(tree):
    mark = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b(?!\(#\d+\))")
    return [
        f"{path}:{n}: {m.group()} without an issue's number, as in {m.group()}(#12)"
        for path in _files(tree, *CODE, ".mlir", ".txt", ".md", "")
        for n, line in enumerate(tree[path].split("\n"), 1)
        for m in [mark.search(line)]
        if m
    ]


def commented_code(tree):
    """`//` and one space at most, then a statement. Indented examples pass."""
    code = re.compile(r"^\s*// ?(?! )(?:[\w:<>*&.\->\[\]]+[ =(].*|[\w.\->]+\+\+);\s*$")
    prose = re.compile(r"[a-z]+ [a-z]+ [a-z]+ ")
    return [
        f"{path}:{n}: commented-out code"
        for path in _files(tree, ".cpp", ".h")
        for n, line in enumerate(tree[path].split("\n"), 1)
        if code.match(line) and not prose.search(line)
        and re.search(r"[=(]", line)
    ]


# Which project folders a room may include, and which third parties.
_MAY_USE = {
    "dsl": {"dsl"},
    "catalogue": {"dsl", "catalogue"},
    "compiler": {"dsl", "compiler"},
    "runtime": {"dsl", "compiler", "runtime"},
    "ops": {"dsl", "catalogue", "runtime", "ops", "compiler"},
    "models": {"dsl", "ops", "models"},
    "cli": {"dsl", "catalogue", "compiler", "runtime", "ops", "models", "cli"},
}
# The compiler's doors: all that rooms above it may see of it.
_DOORS = {
    "compiler/Compiler.h",
    "compiler/Spec.h",
    "compiler/Artifact.h",
    "compiler/KernelAbi.h",
    "compiler/SideBySide.h",
}
_THIRD = (
    (re.compile(r"^(mlir|llvm|llvm-c|mlir-c)/"), "LLVM", {"compiler"}, {"runtime/CpuModule.cpp"}),
    (re.compile(r"^(torch|ATen|c10|caffe2)/"), "torch", {"ops", "models"}, set()),
    (re.compile(r"^pybind11/"), "pybind11", {"ops"}, set()),
    (re.compile(r"^(cuda|nvrtc|cuda_runtime)[\w]*\.h$"), "CUDA", {"runtime"}, set()),
    (re.compile(r"^(nlohmann|CLI|fmt|toml\+\+|gtest|gmock|benchmark)/"), "a library",
     {"runtime", "ops", "models", "cli"}, set()),
)


def _include_violation(path, room, target):
    for pattern, who, rooms, files in _THIRD:
        if pattern.search(target) and room not in rooms and path not in files:
            return f"{who} ({target}) has no place in {room}/"
    other = _room(target)
    if other is None:
        return None
    if other not in _MAY_USE[room]:
        return f"{room} must not use {other} ({target})"
    if other == "compiler" and room != "compiler" and target not in _DOORS:
        return f"{room} sees the compiler only by {', '.join(sorted(_DOORS))} ({target})"
    return None


def includes(tree):
    """Rooms use what stands below them; each third party has its rooms."""
    bad = []
    for path in _files(tree, ".cpp", ".h", ".td"):
        room = _room(path)
        if room is None:
            continue
        for n, line in enumerate(tree[path].split("\n"), 1):
            match = re.match(r'\s*#?\s*include\s+["<]([^">]+)[">]', line)
            why = match and _include_violation(path, room, match.group(1))
            if why:
                bad.append(f"{path}:{n}: {why}")
    return bad


def kebab(name):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()


def twins(tree):
    """Every pass and every lowering of a target has a test of its name. A part
    of one has that of the whole whose name begins its own (PlanTiling: Plan);
    what is no pass may be tested through its header."""
    tests = {PurePosixPath(p).name for p in tree if p.startswith("tests/")}
    included = {
        target
        for p in tree
        if p.startswith("tests/") and p.endswith((".cpp", ".h"))
        for target in re.findall(r'#include "(compiler/[^"]+)"', tree[p])
    }
    bad = []
    for path in _files(tree, ".cpp"):
        is_pass = re.match(r"compiler/passes/\w+\.cpp$", path)
        is_lowering = re.match(r"compiler/target/\w+/\w*[a-z]To[A-Z]\w*\.cpp$", path)
        if not (is_pass or is_lowering):
            continue
        words = re.findall(r"[A-Z][^A-Z]*", PurePosixPath(path).stem)
        stems = ["".join(words[:n]) for n in range(len(words), 0, -1)]
        defines_pass = "GEN_PASS_DEF_" in tree[path]
        names = {f"{kebab(s)}.mlir" for s in stems} | {f"{s}Test.cpp" for s in stems}
        if not tests & names and (defines_pass or path[:-3] + "h" not in included):
            bad.append(f"{path}: no test {kebab(stems[0])}.mlir or {stems[0]}Test.cpp under tests/")
    return bad


def pass_docs(tree):
    """No pass without the IR before and after it in Passes.td."""
    bad = []
    for path in _files(tree, ".td"):
        if not path.endswith("Passes.td"):
            continue
        parts = re.split(r"(?m)^def (\w+)\s*:\s*Pass<", tree[path])
        for name, body in zip(parts[1::2], parts[2::2]):
            shown = re.findall(r"(?s)```mlir(.*?)```", body)
            if len(shown) < 2 and not any("// becomes" in text for text in shown):
                bad.append(f"{path}: pass {name} shows no IR before and after (two blocks, or '// becomes')")
    return bad


def catalogue_names(tree):
    found = set()
    for path in tree:
        if path.startswith("ops/catalogue/") and path.endswith(".cpp"):
            found.update(re.findall(r'\bdefine\(\s*"(\w+)"', tree[path]))
    return found


def no_catalogue_names(tree):
    """The compiler and the runtime know algebra, not the models' names."""
    entries = catalogue_names(tree)
    if not entries:
        return []
    word = re.compile(rf"(?i)(?<![a-z0-9])({'|'.join(sorted(entries))})(?![a-z0-9])")
    return [
        f"{path}:{n}: names the catalogue's '{m.group()}'"
        for path in sorted(tree)
        if _room(path) in ("compiler", "runtime")
        for n, line in enumerate(tree[path].split("\n"), 1)
        for m in [word.search(line)]
        if m
    ]


LAWS = (
    file_length,
    readme_length,
    function_length,
    opening,
    names,
    todo,
    commented_code,
    includes,
    twins,
    pass_docs,
    no_catalogue_names,
)
