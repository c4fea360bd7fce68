"""stand_ins on a plugin made here, which links two libraries as AMD's does ROCm's: one's functions have a version."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import loading

stand_ins = loading.load("stand_ins")

PLUGIN = "int hipInit(int); int miopenCreate(void);\nint start(void) { return hipInit(0); }\nint create(void) { return miopenCreate(); }\n"
CALL = "import ctypes, os, sys; l = ctypes.CDLL(sys.argv[1], mode=os.RTLD_NOW); print(l.start(), l.start(), l.create())"


def gcc(*arguments):
    subprocess.run(["gcc", "-shared", "-fPIC", *map(str, arguments)], check=True)


class StandIns(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name).resolve()
        self.libraries = self.folder / "rocm-7"
        self.libraries.mkdir()
        self.plugin = self.folder / "plugin.so"
        self.source("versions", "hip_4.2 { global: hipInit; };\n")
        hip, miopen = self.libraries / "libamdhip64.so.7", self.libraries / "libMIOpen.so.1"
        script = f"-Wl,--version-script={self.folder / 'versions'}"
        gcc(self.source("hip.c", "int hipInit(int f) { return 0; }\n"), "-Wl,-soname,libamdhip64.so.7", script, "-o", hip)
        gcc(self.source("miopen.c", "int miopenCreate(void) { return 0; }\n"), "-Wl,-soname,libMIOpen.so.1", "-o", miopen)
        paths = f"-Wl,-rpath,$ORIGIN/lib:{self.libraries}"
        gcc(self.source("plugin.c", PLUGIN), hip, miopen, paths, "-o", self.plugin)

    def source(self, name, text):
        (self.folder / name).write_text(text)
        return self.folder / name

    def call(self):
        return subprocess.run([sys.executable, "-c", CALL, self.plugin], capture_output=True, encoding="utf-8")

    def names(self):
        return sorted(path.name for path in (self.folder / "lib").iterdir())

    def test_where_rocm_is_installed_nothing_stands_in(self):
        self.assertEqual(stand_ins.make(self.plugin), 0)
        self.assertEqual(self.names(), [])
        self.assertEqual(self.call().stdout, "0 0 0\n")

    def test_what_stands_in_fails_and_says_so_once(self):
        for path in self.libraries.iterdir():
            path.unlink()
        self.assertIn("cannot open shared object file", self.call().stderr)
        for _ in range(2):  # the second time those of the first are there
            self.assertEqual(stand_ins.make(self.plugin), 2)
        self.assertEqual(self.names(), ["libMIOpen.so.1", "libamdhip64.so.7"])
        done = self.call()
        self.assertEqual(done.stdout, "100 100 1\n", done.stderr)
        self.assertEqual(done.stderr.count("it compiles, and runs nothing"), 1)
        self.assertIn(str(self.folder / "lib"), done.stderr)

    def test_half_of_rocm_is_refused(self):
        (self.libraries / "libMIOpen.so.1").unlink()
        with self.assertRaisesRegex(stand_ins.Failure, r"libamdhip64.*but not libMIOpen\.so\.1"):
            stand_ins.make(self.plugin)

    def test_what_is_no_library_is_refused(self):
        with self.assertRaises(stand_ins.Failure):
            stand_ins.make(self.source("text.so", "text"))


if __name__ == "__main__":
    unittest.main()
