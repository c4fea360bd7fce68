"""scripts/device_check with the real `tenon`, on the CPU with tiny shapes."""

import json
import pathlib
import subprocess
import unittest

from support import COMMAND, CommandTest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "device_check"
SMOKE = ["--platform", "cpu", "--smoke", "--steps", "2"]


def run(command, **kwargs):
    return subprocess.run(command, capture_output=True, encoding="utf-8", timeout=900, **kwargs)


def check_all(test, done, directory, parts):
    """{name: part} of what a run wrote that did all parts."""
    test.check(done)
    last = done.stdout.splitlines()[-1]
    test.assertEqual(last, f"device_check: {len(parts)} of {len(parts)} parts done on 1 x cpu")
    test.assertEqual((directory / "table.txt").read_text().splitlines()[-1], last)
    report = json.loads((directory / "device_check.json").read_text())
    test.assertEqual((report["summary"], report["smoke"]), (last, True))
    test.assertEqual([part["name"] for part in report["parts"]], parts)
    return {part["name"]: part for part in report["parts"]}


class DeviceCheck(CommandTest):
    def test_tiny_shapes_on_the_cpu(self):
        out, parts = self.root / "out", ["124m", "losses"]
        command = [SCRIPT, *SMOKE, "--only", "^(124m|losses)$", "--tenon", COMMAND, "--out", out]
        got = check_all(self, run(command), out, parts)
        first = got["124m"]
        self.assertGreater(first["measured"]["rate"], 0)
        self.assertEqual(first["note"], "cpu_attention")
        expected = first["measured"]["expected_peak_bytes"]
        self.assertAlmostEqual(first["predicted_peak_bytes"], expected, delta=0.01 * expected)
        self.assertEqual(got["losses"]["note"], "losses within 0.0e+00 of cpu")

    @unittest.skipIf(any(pathlib.Path("/dev").glob("nvidia[0-9]*")), "there is a GPU")
    def test_without_a_gpu(self):
        done = run([SCRIPT, "--tenon", COMMAND, "--out", self.root / "none"])
        self.assertEqual(done.returncode, 77, done.stderr)
        self.assertEqual(done.stdout, "device_check: there is no NVIDIA GPU in this machine: nothing was tried\n")


if __name__ == "__main__":
    unittest.main()
