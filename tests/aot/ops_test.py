"""Every op of the op table, in all its cases, compiled by `tenon backend check` for the machine $TENON_TARGET, and those for
one device for one of its devices."""

import json
import os
import subprocess
import unittest

COMMAND = os.environ["TENON_COMMAND"]
TARGET = os.environ["TENON_TARGET"]
PLATFORM = {"v": "tpu", "h": "cuda", "m": "rocm"}[TARGET[0]]
# Cases that a platform's compiler says it can't do; users get its words as an error of code `unsupported`.
REFUSED = {
    "tpu": [f"reduce_precision {how} f64" for how in ("e4m2", "exact", "e11m52")]
    + [f"{op} f64" for op in ("all_reduce_max along one axis", "all_reduce_min along one axis", "reduce_scatter columns")],
    # MIOpen chooses among its kernels on a device.
    "rocm": ["convolution"],
}.get(PLATFORM, [])


class Ops(unittest.TestCase):
    def setUp(self):
        plugin = os.environ.get("TENON_PLUGIN_PATH")
        if plugin and not os.path.exists(plugin):
            self.skipTest(f"there is no {plugin}: run scripts/setup --target cuda,cuda-0.11")

    def test_all_compile(self):
        command = [COMMAND, "backend", "check", PLATFORM, "--target", TARGET, "--timeout_s", "600", "--json"]
        done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, encoding="utf-8")
        if "there is no PJRT plugin" in done.stderr:
            self.skipTest(done.stderr.strip().splitlines()[-1])
        self.assertNotEqual(done.stdout, "", done.stderr)
        report = json.loads(done.stdout)
        wrong = [c for c in report["checks"] if c["needed"] and c["status"] not in ("works", "compiles")]
        self.assertEqual(wrong, [])
        self.assertGreater(len({op["name"] for op in report["ops"]}), 90)
        failed = {f"{op['name']} {op['case']}": op for op in report["ops"] if op["status"] != "compiles"}
        for start in REFUSED:
            known = [name for name in failed if name.startswith(start)]
            self.assertTrue(known, f"the compiler does what REFUSED says it can't: {start}")
            for name in known:
                self.assertEqual(failed.pop(name)["status"], "refused", name)
        self.assertEqual(failed, {}, f"{TARGET} refuses {len(failed)} of {len(report['ops'])} cases")


if __name__ == "__main__":
    unittest.main()
