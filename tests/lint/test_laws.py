"""Every law finds a planted violation and passes the tree without it."""
# SPDX-License-Identifier: Apache-2.0
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import laws  # noqa: E402
import tools  # noqa: E402

HEAD = "// Purpose.\n// SPDX-License-Identifier: Apache-2.0\n"
PY_HEAD = '"""Purpose."""\n# SPDX-License-Identifier: Apache-2.0\n'
LONG_BODY = "  step();\n" * 61
MARK = "TO" + "DO"
CATALOGUE = {"ops/catalogue/A.cpp": HEAD + 'auto r = define("swift_rule", [] {});\n'}
PASS = 'def Fold : Pass<"fold"> {\n  let description = [{%s}];\n}\n'

# law, a tree that breaks it, a tree that keeps it
CASES = [
    ("file_length", {"dsl/A.cpp": "x;\n" * 601}, {"dsl/A.cpp": "x;\n" * 600}),
    ("file_length", {"dsl/A.h": "x;\n" * 121}, {"dsl/A.h": "x;\n" * 120}),
    ("readme_length", {"dsl/README.md": "x\n" * 61}, {"dsl/README.md": "x\n" * 60}),
    (
        "function_length",
        {"dsl/A.cpp": "namespace a {\nint f(int x) {\n" + LONG_BODY + "}\n}\n"},
        {"dsl/A.cpp": "namespace a {\nint f() {\n}\nstruct S {\n" + LONG_BODY + "};\n}\n"},
    ),
    (
        "function_length",
        {"dsl/A.cpp": "struct A {\n  int f() const override {\n" + LONG_BODY + "  }\n};\n"},
        {"dsl/A.cpp": 'const char *s = "f() {\n"; // g() {\n#define F(x) x\nnamespace {\n' + LONG_BODY + "}\n"},
    ),
    (
        "function_length",
        {"ops/a.py": "def f():\n" + "    x = 1\n" * 61},
        {"ops/a.py": "def f():\n" + "    x = 1\n" * 59},
    ),
    ("opening", {"dsl/A.cpp": "int x;\n" + HEAD}, {"dsl/A.cpp": HEAD}),
    ("opening", {"dsl/A.cpp": "// Purpose.\n"}, {"ops/a.py": PY_HEAD}),
    ("names", {"dsl/StringUtils.h": HEAD}, {"dsl/Text.h": HEAD}),
    ("names", {"dsl/Common.h": HEAD}, {"dsl/Commonality.h": HEAD}),
    ("todo", {"dsl/A.h": f"// {MARK}: later\n"}, {"dsl/A.h": f"// {MARK}(#7): later\n"}),
    (
        "commented_code",
        {"dsl/A.cpp": "  // count = next(count);\n"},
        {"dsl/A.cpp": "// Sums; restarts at chunk ends;\n//   M = exp(g) * M;\n"},
    ),
    ("includes", {"dsl/A.h": '#include "compiler/Spec.h"\n'}, {"compiler/A.h": '#include "dsl/Expr.h"\n'}),
    ("includes", {"dsl/A.h": '#include "llvm/ADT/X.h"\n'}, {"compiler/A.h": '#include "llvm/ADT/X.h"\n'}),
    (
        "includes",
        {"runtime/A.cpp": '#include "compiler/Pipeline.h"\n'},
        {"runtime/A.cpp": '#include "compiler/Compiler.h"\n'},
    ),
    (
        "includes",
        {"models/A.cpp": '#include "runtime/recurra.h"\n'},
        {"models/A.cpp": '#include <torch/torch.h>\n#include "dsl/Error.h"\n'},
    ),
    (
        "includes",
        {"ops/catalogue/A.cpp": "#include <ATen/ATen.h>\n"},
        {"ops/A.cpp": "#include <ATen/ATen.h>\n"},
    ),
    (
        "twins",
        {"compiler/passes/DeriveBackward.cpp": HEAD},
        {
            "compiler/passes/DeriveBackward.cpp": HEAD,
            "tests/compiler/passes/derive-backward.mlir": "",
        },
    ),
    (
        "twins",
        {"compiler/target/cpu/ChunkToVector.cpp": HEAD},
        {
            "compiler/target/cpu/ChunkToVector.cpp": HEAD,
            "tests/compiler/target/chunk-to-vector.mlir": "",
        },
    ),
    (
        "twins",
        {
            "compiler/passes/PlanTiling.cpp": HEAD,
            "compiler/passes/Fold.cpp": "GEN_PASS_DEF_FOLD\n",
            "tests/compiler/PlanTest.cpp": '#include "compiler/passes/Fold.h"\n',
        },
        {
            "compiler/passes/Counts.cpp": HEAD,
            "tests/compiler/PlanTest.cpp": '#include "compiler/passes/Counts.h"\n',
        },
    ),
    (
        "pass_docs",
        {"compiler/passes/Passes.td": PASS % "Folds."},
        {"compiler/passes/Passes.td": PASS % "```mlir\na\n// becomes\nb\n```"},
    ),
    (
        "no_catalogue_names",
        {**CATALOGUE, "compiler/A.cpp": "// as in swift_rule\n"},
        {**CATALOGUE, "compiler/A.cpp": "// swift_rules2\n", "ops/B.cpp": "swift_rule\n"},
    ),
]


@pytest.mark.parametrize("law, broken, kept", CASES)
def test_law_finds_the_planted_violation(law, broken, kept):
    check = getattr(laws, law)
    assert len(check(broken)) == 1
    assert check(kept) == []


def test_every_law_has_a_case():
    assert {law.__name__ for law in laws.LAWS} == {case[0] for case in CASES}


def test_formatter_finds_a_badly_formatted_file(tmp_path):
    (tmp_path / "A.cpp").write_text("int  main( ){return 0;}\n")
    assert len(tools.clang_format(tmp_path, {"A.cpp": ""})) == 1
    (tmp_path / "A.cpp").write_text("int main() { return 0; }\n")
    assert tools.clang_format(tmp_path, {"A.cpp": ""}) == []


def _git(folder, *arguments):
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments],
        cwd=folder, check=True, capture_output=True,
    )


def test_tidy_finds_a_planted_mistake_in_a_changed_file(tmp_path):
    root = Path(__file__).resolve().parents[2]
    (tmp_path / ".clang-tidy").write_text((root / ".clang-tidy").read_text())
    (tmp_path / "build").mkdir()
    command = '[{"directory": "%s", "file": "A.cpp", "command": "clang++-22 -c A.cpp"}]'
    (tmp_path / "build/compile_commands.json").write_text(command % tmp_path)
    source = tmp_path / "A.cpp"
    source.write_text("int f() { return 0; }\n")
    _git(tmp_path, "init", "-q")
    _git(tmp_path, "add", ".")
    _git(tmp_path, "commit", "-qm", "one")
    _git(tmp_path, "commit", "-qm", "two", "--allow-empty")
    assert tools.clang_tidy(tmp_path, {"A.cpp": ""}) == ([], None)
    source.write_text("int *F() { return 0; }\n")
    violations, skipped = tools.clang_tidy(tmp_path, {"A.cpp": ""})
    assert skipped is None
    assert any("use-nullptr" in line for line in violations)
    assert any("identifier-naming" in line for line in violations)


def test_tidy_is_skipped_aloud_without_a_build(tmp_path):
    assert tools.clang_tidy(tmp_path, {})[1]
