"""The train steps of all kinds of experiments compile with the CUDA plugin $TENON_CUDA_PLUGIN, of whatever version.

Text has no promise of stability between versions of StableHLO, so it is tried with more than one. Sizes of a kind share
their ops: the smallest stands for all.
"""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TENON = os.environ["TENON_COMMAND"]
PLUGIN = pathlib.Path(os.environ["TENON_CUDA_PLUGIN"])
ENV = {**os.environ, "TENON_PLUGIN_PATH": str(PLUGIN)}
OTHER_SIZES = re.compile(r"single_host|_(7|8|13|33|65|70|405)b|_(370|780)m|_(1_3|2_7)b|30b_a3b")
FITS_OR_NOT = (0, 3)


def experiments():
    names = (path.stem for path in (ROOT / "src/tenon/experiments/golden").glob("*.golden"))
    return sorted(name for name in names if not OTHER_SIZES.search(name))


class PluginVersions(unittest.TestCase):
    def setUp(self):
        if not PLUGIN.exists():
            self.skipTest(f"there is no {PLUGIN}: run scripts/setup --target cuda,cuda-0.11")

    def compile(self, *arguments):
        done = subprocess.run([TENON, "aot", *arguments, "--json"], capture_output=True, encoding="utf-8", env=ENV)
        self.assertIn(done.returncode, FITS_OR_NOT, f"{arguments}: {done.stderr}")
        report = json.loads(done.stdout)
        self.assertTrue(report["compiled"], f"{arguments}: {report['refused']}")

    def test_every_kind_of_experiment(self):
        names = experiments()
        self.assertGreater(len(names), 12)
        for name in names:
            with self.subTest(name):
                self.compile(name, "--target", "h100:1", "--set", "mesh.data=-1", "--set", "mesh.fsdp=1")

    def test_meshes(self):
        for line in (ROOT / "tests/aot/programs/pairs.txt").read_text().splitlines():
            words = line.split("#")[0].split()
            if words and words[0].startswith("h100_"):
                with self.subTest(words[0]):
                    self.compile(*words[1:])

    def test_what_device_check_tries(self):
        """With the kernels that it asks for: cuDNN's and ours."""
        with tempfile.TemporaryDirectory() as out:
            command = [ROOT / "scripts" / "device_check", "--predict", "h200", "--tenon", TENON, "--out", out]
            done = subprocess.run(command, capture_output=True, encoding="utf-8", env=ENV)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("device_check: 6 of 6 parts done without a device, for h200\n", done.stdout)


if __name__ == "__main__":
    unittest.main()
