"""Golden programs: the compilers make the same of experiments as when scripts/update_programs wrote tests/aot/programs."""

import os
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCRIPT = ROOT / "scripts" / "update_programs"
sys.path.insert(0, str(ROOT / "tests" / "scripts"))

import loading  # noqa: E402

update_programs = loading.load("update_programs")


class Programs(unittest.TestCase):
    def test_they_are_as_they_were(self):
        command = [sys.executable, "-B", SCRIPT, "--check", "--tenon", os.environ["TENON_COMMAND"]]
        done = subprocess.run([*command, "--only", os.environ["TENON_PROGRAMS"]], capture_output=True, encoding="utf-8")
        self.assertEqual(done.returncode, 0, f"scripts/update_programs accepts what is now:\n{done.stdout}{done.stderr}")
        if done.stdout.endswith("\n0 programs, 0 changed\n"):
            self.skipTest(done.stdout)

    def test_there_is_a_pair_for_each_file(self):
        names = {row.name for row in update_programs.read_rows(update_programs.PAIRS)}
        self.assertGreaterEqual(len(names), 20)
        self.assertEqual({path.stem for path in (ROOT / "tests/aot/programs").glob("*.json")}, names)

    def test_what_changed_is_told(self):
        row = {"kind": "all-gather", "axes": "fsdp", "group_size": 4, "count": 2, "bytes": 100}
        old = {"arguments": "x", "program_hash": "a", "flops": 1.0, "temporaries": 1000, "collectives": [row]}
        differences = update_programs.differences
        self.assertEqual(list(differences(old, {**old, "temporaries": 1020})), [])
        self.assertEqual(len(list(differences(old, {**old, "temporaries": 1021}))), 1)
        self.assertEqual(len(list(differences(old, {**old, "program_hash": "b", "flops": 2.0}))), 2)
        moved = list(differences(old, {**old, "collectives": [{**row, "count": 3}]}))
        self.assertEqual(moved, ["all-gather over fsdp: 2 x, 100 bytes -> 3 x, 100 bytes"])
        self.assertEqual(len(list(differences(old, {**old, "collectives": []}))), 1)


if __name__ == "__main__":
    unittest.main()
