"""Every op of the op table, in all its cases, compiled for the machine $TENON_TARGET by `tenon backend check`."""

import json
import os
import subprocess
import unittest

COMMAND = os.environ["TENON_COMMAND"]
TARGET = os.environ["TENON_TARGET"]
PLATFORM = "tpu" if TARGET.startswith("v") else "cuda"
# Cases that a target's compiler says it can't do; users get its words as an error of code `unsupported`.
REFUSED = {
    "v5p:1x1x1": [f"reduce_precision {how} f64" for how in ("e4m2", "exact", "e11m52")],
    "v5p:2x2x1": [f"reduce_precision {how} f64" for how in ("e4m2", "exact", "e11m52")]
    + [f"{op} f64" for op in ("all_reduce_max along one axis", "all_reduce_min along one axis", "reduce_scatter columns")],
}.get(TARGET, [])


class Ops(unittest.TestCase):
    def test_all_compile(self):
        command = [COMMAND, "backend", "check", PLATFORM, "--target", TARGET, "--timeout_s", "600", "--json"]
        done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, encoding="utf-8")
        if "there is no PJRT plugin" in done.stderr:
            self.skipTest(done.stderr.strip().splitlines()[-1])
        self.assertNotEqual(done.stdout, "", done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual([check for check in report["checks"] if check["needed"] and check["status"] != "compiles"
                          and check["name"] != "sharding"], [])
        self.assertGreater(len({op["name"] for op in report["ops"]}), 90)
        several = TARGET not in ("v5p:1x1x1", "h100:1")
        self.assertEqual(any(op["status"] == "not tried" for op in report["ops"]), not several)
        failed = {f"{op['name']} {op['case']}": op for op in report["ops"] if op["status"] not in ("compiles", "not tried")}
        for case in REFUSED:
            self.assertEqual(failed.pop(case, {"status": "compiles"})["status"], "refused", case)
        self.assertEqual(failed, {}, f"{TARGET} refuses {len(failed)} of {len(report['ops'])} cases")


if __name__ == "__main__":
    unittest.main()
