"""scripts/device_check packed, unpacked in an empty place, and run there. Needs tenon_portable."""

import os
import pathlib
import unittest

from device_check_test import SCRIPT, SMOKE, check_all, run
from support import CommandTest

PARTS = ["124m", "1b", "3b", "124m-compiler", "124m-documents", "124m-documents-compiler", "losses-compiler",
         "losses"]


class Carried(CommandTest):
    def setUp(self):
        self.portable = pathlib.Path(os.environ["TENON_PORTABLE"])
        if not self.portable.exists():
            self.skipTest("there is no tenon_portable: run scripts/setup --target sources, and build")

    def pack(self):
        pack = self.root / "pack.tar"
        done = self.check(run([SCRIPT, "--pack", pack, "--tenon", self.portable]))
        self.assertRegex(done.stdout, r"tenon with \d+ bytes, which needs glibc 2\.\d+ or later")
        (self.root / "there").mkdir(exist_ok=True)
        self.check(run(["tar", "-xf", pack, "-C", self.root / "there"]))
        return self.root / "there" / "tenon_device_check"

    def test_it_runs_where_it_is_unpacked(self):
        folder = self.pack()
        self.assertLessEqual((folder / "tenon").stat().st_size, 40_000_000)
        self.assertLessEqual({"tenon", "zlib", "highway-1.0.3"}, {path.name for path in (folder / "licenses").iterdir()})
        env = {"PATH": "/usr/bin:/bin", "HOME": str(self.root), "TENON_PLUGIN_PATH": os.environ["TENON_CPU_PLUGIN"]}
        done = run(["./device_check", *SMOKE], cwd=folder, env=env)
        got = check_all(self, done, folder / "device_check.out", PARTS)
        for name in ("124m-compiler", "124m-documents-compiler"):
            self.assertRegex(got[name]["note"], r"^losses within [0-9.e-]+ of 124m(-documents)?$")

    def test_it_says_that_it_takes_no_plug_ins(self):
        plugin = pathlib.Path(os.environ["TENON_TEST_PLUGINS"]) / "squared_relu.so"
        done = run([self.portable, "config", "show", "austen_tiny", "--plugin", plugin])
        self.check_error(done, 2, "unsupported", "one file, without the libraries that plug-ins link", "cmake --install")


if __name__ == "__main__":
    unittest.main()
