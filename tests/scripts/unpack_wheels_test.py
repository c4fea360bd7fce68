"""unpack_wheels on a wheel made here; pip is never called."""

import pathlib
import subprocess
import tempfile
import unittest
import unittest.mock
import zipfile

import loading

unpack_wheels = loading.load("unpack_wheels")


class UnpackWheels(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.wheel = self.folder / "libtpu-1-py3-none-any.whl"
        with zipfile.ZipFile(self.wheel, "w") as archive:
            archive.writestr("libtpu/libtpu.so", b"plugin")
            archive.writestr("libtpu/other.py", b"not wanted")
            archive.writestr("libtpu/LICENSE", b"licence")
        self.requirements = self.folder / "requirements.txt"
        self.pin(unpack_wheels.sha256(self.wheel))

    def pin(self, digest):
        self.requirements.write_text(f"# comment\nlibtpu==1 --hash=sha256:{digest}\n")

    def test_takes_the_plugin_and_the_licence_and_nothing_else(self):
        deps = self.folder / "deps"
        with unittest.mock.patch.object(subprocess, "run", side_effect=AssertionError("pip was called")):
            (wheel,) = unpack_wheels.fetch(self.requirements, self.folder)
        unpack_wheels.unpack(wheel, deps, "tpu")
        files = {str(path.relative_to(deps)): path.read_bytes() for path in deps.rglob("*") if path.is_file()}
        self.assertEqual(files, {"plugins/tpu/libtpu.so": b"plugin", "licenses/libtpu/LICENSE": b"licence"})

    def test_one_wheel_goes_where_each_target_has_it(self):
        for target in ("tpu", "tpu-0.1"):
            unpack_wheels.unpack(self.wheel, self.folder / "deps", target)
            self.assertEqual((self.folder / "deps" / "plugins" / target / "libtpu.so").read_bytes(), b"plugin")

    def test_readers_are_taken_whole(self):
        wheel = self.folder / "safetensors-1-py3-none-any.whl"
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr("safetensors/numpy.py", b"code")
            archive.writestr("safetensors-1.dist-info/licenses/LICENSE", b"licence")
        deps = self.folder / "deps"
        unpack_wheels.unpack(wheel, deps, "readers")
        files = sorted(str(path.relative_to(deps)) for path in deps.rglob("*") if path.is_file())
        self.assertEqual(
            files, ["readers/safetensors-1.dist-info/licenses/LICENSE", "readers/safetensors/numpy.py"]
        )

    def test_digits_go_beside_the_dependencies(self):
        wheel = self.folder / "scikit_learn-1-py3-none-any.whl"
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr("sklearn/datasets/data/digits.csv.gz", b"images")
            archive.writestr("sklearn/datasets/data/iris.csv", b"not wanted")
            archive.writestr("scikit_learn-1.dist-info/licenses/COPYING", b"licence")
        unpack_wheels.unpack(wheel, self.folder / "deps", "digits")
        files = {path.name: path.parent.relative_to(self.folder) for path in self.folder.rglob("*") if path.is_file()}
        self.assertEqual(str(files["digits.csv.gz"]), "data/digits")
        self.assertEqual(str(files["COPYING"]), "deps/licenses/scikit_learn")
        self.assertNotIn("iris.csv", files)

    def test_a_wheel_with_another_hash_is_never_used(self):
        self.pin("0" * 64)
        pretend = unittest.mock.Mock(return_value=subprocess.CompletedProcess([], 0))
        with unittest.mock.patch.object(subprocess, "run", pretend), unittest.mock.patch("builtins.print"):
            with self.assertRaisesRegex(unpack_wheels.Failure, "libtpu==1 with the pinned hash"):
                unpack_wheels.fetch(self.requirements, self.folder)
        pretend.assert_called_once()


if __name__ == "__main__":
    unittest.main()
