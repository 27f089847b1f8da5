# lit over the .mlir texts: RUN lines with recurra-opt and FileCheck.
# SPDX-License-Identifier: Apache-2.0
import os

import lit.formats

config.name = "compiler"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.test_source_root = os.path.dirname(__file__)
config.environment["PATH"] = os.pathsep.join(
    [config.recurra_tools_dir, config.llvm_tools_dir, os.environ["PATH"]]
)
