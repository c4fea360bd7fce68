"""check_includes on a small tree with one fault of each kind."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import loading

TABLE = "tenon_layer(base LIBS fmt::fmt)\ntenon_layer(ir DEPS base)\ntenon_layer(nn DEPS ir LIBS CLI11::CLI11)\n"
PRECOMPILED = "set(tenon_precompiled_base <algorithm> <vector>\n    <fmt/ranges.h>)\n"


class CheckIncludes(unittest.TestCase):
    def complaints(self, **files):
        """The script's output for a tree whose files are named like ir__a_h."""
        with tempfile.TemporaryDirectory() as scratch:
            root = pathlib.Path(scratch)
            (root / "CMakeLists.txt").write_text(TABLE)
            (root / "cmake").mkdir()
            (root / "cmake/TenonFastBuild.cmake").write_text(PRECOMPILED)
            for name, text in files.items():
                path = root / "src/tenon" / name.replace("__", "/").replace("_h", ".h").replace("_cc", ".cc")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            command = [sys.executable, "-B", loading.SCRIPTS / "check_includes", root]
            done = subprocess.run(command, capture_output=True, text=True)
            self.assertEqual(done.returncode, 1 if done.stderr else 0)
            return done.stderr

    def test_downward_includes_pass(self):
        source = '#include <vector>\n#include <fmt/format.h>\n#include "tenon/base/b.h"\n#include "tenon/ir/a.h"\n'
        self.assertEqual(self.complaints(ir__a_cc=source, ir__a_h="#pragma once\n", base__b_h="#pragma once\n"), "")
        self.assertEqual(self.complaints(ir__ops__a_cc='#include "tenon/ir/ops/support.h"\n'), "")

    def test_what_others_have_may_come_through_headers(self):
        header = "#pragma once\n#include <vector>\n"
        source = '#include "tenon/base/b.h"\nstd::vector<int> a;  // std::ranges::sort\nint b = std::ranges::size(a);\n'
        self.assertEqual(self.complaints(ir__a_cc=source, base__b_h=header), "")

    def test_names_of_headers_of_tenon(self):
        tree = {
            "ir__all_h": '#pragma once\n#include "tenon/ir/op.h"\n',
            "ir__op_h": "#pragma once\n#define OP(x) x\nstruct Op {\nint inside();\n};\nOp make_op(int kind);\n",
        }
        uses = {"make_op(1);": "make_op", "std::vector<Op> a;": "Op", "OP(2)": "OP"}
        for code, name in uses.items():
            with self.subTest(code):
                output = self.complaints(nn__a_cc=f"#include <vector>\n{code}\n", **tree)
                self.assertIn(f"uses {name} without tenon/ir/op.h", output)
                self.assertEqual(output.count("\n"), 1)
                included = f'#include <vector>\n#include "tenon/ir/all.h"\n{code}\n'
                self.assertEqual(self.complaints(nn__a_cc=included, **tree), "")
        own = "struct Op;\nint make_op(int);\n// OP\nchar text[] = \"OP(1)\";\nint b = x.make_op(1) + y::make_op(2);\n"
        self.assertEqual(self.complaints(nn__a_cc=own, **tree), "")
        # base can't mean what is in ir.
        self.assertEqual(self.complaints(base__a_cc="make_op(1);\n", **tree), "")

    def test_faults(self):
        cases = {
            "layer ir may not use nn": {"ir__a_cc": '#include "tenon/nn/n.h"\n'},
            "only .cc files may": {"base__a_h": "#pragma once\n#include <fmt/format.h>\n"},
            "only .cc files of its layer may": {"nn__a_cc": '#include "tenon/ir/ops/support.h"\n'},
            "doesn't name CLI11": {"ir__a_cc": "#include <CLI/CLI.hpp>\n"},
            "no #pragma once": {"ir__a_h": "int a;\n"},
            "only layer pjrt may": {"ir__a_cc": '#include "pjrt_c_api.h"\n'},
            "too heavy for a header": {"ir__a_h": "#pragma once\n#include <iostream>\n"},
            "uses std::vector without <vector>": {"ir__a_cc": "std::vector<int> a;\n"},
            "uses std::ranges::sort without <algorithm>": {"ir__a_cc": "std::ranges::sort(a, std::ranges::begin(b));\n"},
            "uses std::mutex without <mutex>": {"ir__a_cc": "#include <vector>\nstd::mutex a;\n"},
            "is in no layer": {"foo__a_cc": "\n"},
        }
        for words, files in cases.items():
            with self.subTest(words):
                output = self.complaints(**files)
                self.assertIn(words, output)
                self.assertEqual(output.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
