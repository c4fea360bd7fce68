"""scripts/peers/without_cuda.py: a library that is linked to CUDA's loads without them."""
import ctypes
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).parents[2] / "scripts" / "peers" / "without_cuda.py"


def library(folder, name, code, *flags):
    subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-x", "none", "-o", str(folder / name),
                    f"-Wl,-soname,{name}", *flags], input=code, text=True, check=True)


class WithoutCuda(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)
        self.addCleanup(self.temporary.cleanup)
        # One library gives its function a version, the other doesn't, and a third is only named.
        versions = self.folder / "script"
        versions.write_text("FIRST { cuInit; };")
        library(self.folder, "libcudart.so.13", "int cuInit(void) { return 0; }", f"-Wl,--version-script,{versions}")
        library(self.folder, "libnccl.so.2", "int ncclSum(void) { return 0; }")
        library(self.folder, "libcufile.so.0", "int unused(void) { return 0; }")
        code = ("int cuInit(void); int ncclSum(void);\n"
                "int sum(void) { return cuInit() + ncclSum(); }\nint (*address)(void) = cuInit;")
        cuda = [str(self.folder / n) for n in ("libcudart.so.13", "libnccl.so.2", "libcufile.so.0")]
        library(self.folder, "libuser.so", code, "-Wl,--no-as-needed", *cuda, "-Wl,-rpath,$ORIGIN", "-Wl,-z,defs")
        for path in cuda:
            pathlib.Path(path).unlink()

    def test_loads_and_every_function_says_that_there_is_no_device(self):
        with self.assertRaises(OSError):
            ctypes.CDLL(str(self.folder / "libuser.so"))
        subprocess.run([sys.executable, "-B", SCRIPT, self.folder], check=True)
        self.assertEqual(ctypes.CDLL(str(self.folder / "libuser.so")).sum(), 200)

    def test_twice_is_as_once(self):
        for _ in range(2):
            subprocess.run([sys.executable, "-B", SCRIPT, self.folder], check=True)
        self.assertEqual(ctypes.CDLL(str(self.folder / "libuser.so")).sum(), 200)


if __name__ == "__main__":
    unittest.main()
