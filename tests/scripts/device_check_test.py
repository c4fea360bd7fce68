"""scripts/device_check with a stand-in for `tenon`: the table, the notes and the JSON, on a GPU that isn't there."""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "device_check"
HAS_GPU = any(pathlib.Path("/dev").glob("nvidia[0-9]*"))

# Answers as `tenon measure` and `tenon aot` do; FAKE_FAIL is a regular expression of command lines that fail.
TENON = r"""#!/usr/bin/env python3
import json, os, re, sys
line = " ".join(sys.argv[1:])
if re.search(os.environ.get("FAKE_FAIL", "^$"), line):
    if "args.num_layers=28" in line:
        os.kill(os.getpid(), 9)
    sys.exit("warning: something\nerror: plugin at x.so: no \"such\" device")
if sys.argv[1] == "aot":
    kernels = ["core: attention by triton_attention" if "documents=true" in line else "core: attention by cudnn_attention"]
    parts = {"total": 9, "arguments": 3 << 30, "results": 3 << 30, "in_place": 2 << 30, "temporaries": 4 << 30}
    print(json.dumps({"fits": False, "bytes": parts, "kernels": kernels}, indent=2))
    sys.exit(3)
kernel = "triton_attention (cudnn_attention: rows have several documents)"
if "llama2_7b" in line and "separate_documents=true" not in line:
    kernel = "cudnn_attention"
if "kernels.disable" in line:
    kernel = "ordinary ops"
losses = [3.0, 2.5, 2.0]
if "--platform cpu" in line:
    if "TENON_PLUGIN_PATH" in os.environ:
        sys.exit("error: that is the GPU's")
    losses = [3.0, 2.5, 2.001]
if "--platform cuda" in line and os.environ.get("FAKE_DRIFT") and "kernels.disable" in line:
    losses = [3.0, 2.5, 1.0]
print(json.dumps({
    "device_kind": "NVIDIA H200", "plugin_version": "fake 1", "chip": os.environ.get("FAKE_CHIP", "h200"),
    "num_devices": 1, "kernels": ["decoder.layers::12.attention.core: attention x2 by " + kernel],
    "device_peak_bytes": 6 << 30, "rate": 12345.6, "mfu": 0.4567 if os.environ.get("FAKE_CHIP", "h200") else None,
    "step_s": [0.25], "losses": losses,
}, indent=2))
"""


class DeviceCheck(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.tenon = self.folder / "tenon"
        self.tenon.write_text(TENON)
        self.tenon.chmod(0o755)

    def run_script(self, *options, status=0, **env):
        command = [SCRIPT, "--tenon", self.tenon, "--out", self.folder / "out", *options]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", env={**os.environ, **env}, timeout=60)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def check(self, *options, **settings):
        return self.run_script(*options, **settings).stdout

    def results(self):
        return json.loads((self.folder / "out" / "device_check.json").read_text())

    def test_the_table_of_a_gpu(self):
        text = self.check(TENON_PLUGIN_PATH="/cuda.so")
        rows = text.splitlines()
        self.assertEqual(rows[0], "1 x NVIDIA H200, fake 1")
        row = r" +12346 +45\.7 % +8\.000 GiB +6\.000 GiB +0\.750  "
        notes = {
            "124m": "cudnn_attention",
            "1b": "cudnn_attention",
            "3b": "cudnn_attention",
            "124m-compiler": "losses within 0.0e+00 of 124m",
            "124m-documents": "triton_attention",
            "124m-documents-compiler": "losses within 0.0e+00 of 124m-documents",
        }
        for (name, note), got in zip(notes.items(), rows[2:8]):
            self.assertRegex(got, f"^{name}{row}{re.escape(note)}$")
        for row in rows[8:10]:
            self.assertRegex(row, r"^losses(-compiler)? .* losses within 5\.0e-04 of cpu$")
        self.assertEqual(rows[-1], "device_check: 8 of 8 parts done on 1 x NVIDIA H200")
        results = self.results()
        self.assertEqual(results["summary"], rows[-1])
        self.assertEqual(results["device"]["device_kind"], "NVIDIA H200")
        self.assertEqual([part["name"] for part in results["parts"]], [*notes, "losses-compiler", "losses"])
        self.assertEqual(results["parts"][0]["predicted_peak_bytes"], 8 << 30)
        self.assertEqual(results["parts"][0]["measured"]["rate"], 12345.6)

    def test_a_part_that_fails_says_so_and_the_rest_goes_on(self):
        text = self.check(status=1, FAKE_FAIL="measure.*num_layers=(28|16)")
        self.assertRegex(text, r'(?m)^1b .* FAILED: plugin at x\.so: no "such" device$')
        self.assertRegex(text, r"(?m)^3b .* FAILED: ended by signal 9; its last words are in .*/3b\.log$")
        self.assertTrue(text.endswith("\ndevice_check: 6 of 8 parts done on 1 x NVIDIA H200; failed: 1b 3b\n"))
        part = self.results()["parts"][1]
        self.assertEqual((part["done"], part["measured"]), (False, None))
        self.assertIn('no "such" device', part["note"])

    def test_another_kernel_or_other_losses_are_failures(self):
        text = self.check("--only", "^124m-compiler|^124m$", status=1, FAKE_DRIFT="1")
        self.assertRegex(text, r"(?m)^124m-compiler .* FAILED: losses differ by 5\.0e-01 from 124m \(limit 2e-2\)$")
        self.assertRegex(text, r"(?m)^124m-compiler +12346 +45\.7 % +8\.000 GiB +6\.000 GiB +0\.750  FAILED")
        part = self.results()["parts"][1]
        self.assertEqual((part["done"], part["measured"]["rate"]), (False, 12345.6))
        self.tenon.write_text(TENON.replace('kernel = "cudnn_attention"', 'kernel = "ordinary ops (cudnn: old)"'))
        text = self.check("--only", "^124m$", status=1)
        self.assertIn("FAILED: attention isn't by cudnn_attention: ", text)
        self.assertIn("by ordinary ops (cudnn: old)", text)

    def test_a_chip_that_is_not_known(self):
        text = self.check("--only", "^1b$", FAKE_CHIP="")
        self.assertIn("doesn't know it: no MFU, no prediction\n", text)
        self.assertRegex(text, r"(?m)^1b +12346 +- +- +6\.000 GiB +-  cudnn_attention$")

    def test_predictions_need_no_device(self):
        text = self.check("--predict", "h100", status=1, FAKE_FAIL="measure|aot.*num_layers=16")
        self.assertRegex(text, r"(?m)^3b +- +- +8\.000 GiB +- +-  cudnn_attention$")
        self.assertRegex(text, r"(?m)^124m-documents +- +- +8\.000 GiB +- +-  triton_attention$")
        self.assertRegex(text, r"(?m)^1b +- .*  FAILED: plugin at x\.so: ")
        self.assertTrue(text.endswith("\ndevice_check: 5 of 6 parts done without a device, for h100; failed: 1b\n"), text)
        self.assertIsNone(self.results()["device"])
        text = self.check("--predict", "h100", "--only", "^3b$", status=1, FAKE_FAIL="aot")
        self.assertRegex(text, r"(?m)^3b .* FAILED: ended by signal 9; ")

    def test_losses_that_were_carried_along(self):
        script = self.folder / "device_check"
        script.write_bytes(SCRIPT.read_bytes())
        script.chmod(0o755)
        (self.folder / "cpu.json").write_text('{"losses": [3.0, 2.5,\n 1.0]}')
        done = subprocess.run([script, "--only", "^losses$"], capture_output=True, encoding="utf-8", cwd=self.folder)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^losses .* FAILED: losses differ by 1\.0e\+00 from cpu \(limit 1e-2\)$")

    @unittest.skipIf(HAS_GPU, "there is a GPU")
    def test_without_a_gpu_it_says_so(self):
        text = self.check(status=77, FAKE_FAIL="--platform cuda")
        self.assertEqual(text, "device_check: there is no NVIDIA GPU in this machine: nothing was tried\n")

    def test_what_cannot_be_used_is_told(self):
        text = self.check("--platform", "tpu", status=1, FAKE_FAIL="--platform tpu")
        self.assertIn("platform tpu can't be used: plugin at x.so", text)

    def test_mistakes(self):
        for options in (["--steps", "0"], ["--steps"], ["--speed"], ["--only", "7b"], ["--tenon", "/none"]):
            with self.subTest(options):
                self.check(*options, status=2)
        done = self.run_script("--predict", "h100", "--only", "losses", status=2)
        self.assertIn("--only losses: no such part is predicted: 124m ", done.stderr)

    def test_a_program_that_needs_other_libraries_is_not_packed(self):
        program = self.folder / "tenon_portable"
        source = "#include <cmath>\n#include <iostream>\nint main() { std::cout << 1; }"
        subprocess.run(["g++", "-x", "c++", "-", "-o", program], input=source, text=True, check=True)
        command = [SCRIPT, "--pack", self.folder / "pack.tar", "--tenon", program]
        done = subprocess.run(command, capture_output=True, encoding="utf-8")
        self.assertEqual(done.returncode, 2)
        self.assertIn("needs libstdc++.so.6, which another machine may not have", done.stderr)
        self.assertFalse((self.folder / "pack.tar").exists())


if __name__ == "__main__":
    unittest.main()
