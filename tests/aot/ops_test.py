"""Every op of the op table, in all its cases for $TENON_DEVICES devices, compiled for the machine $TENON_TARGET.

Many cases share a program, since compiling is most of the work; where one fails, or takes the compiler down with it, it is
split until the culprit is alone.
"""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

COMPILER = [os.environ["TENON_OP_COMPILER"]]
TARGET = os.environ["TENON_TARGET"]
DEVICES = os.environ["TENON_DEVICES"]  # that TARGET has
BATCH = 64  # cases in a program
HANG_S = 600  # a program that takes longer has hung the compiler
NO_PLUGIN = 77
# Cases that a target's compiler says it can't do; users get its words as an error of code `unsupported`.
REFUSED = {
    "v5p:1x1x1": [f"reduce_precision {how} f64" for how in ("e4m2", "exact", "e11m52")],
    "v5p:2x2x1": [
        f"{op} f64" for op in ("all_reduce_max along one axis", "all_reduce_min along one axis", "reduce_scatter columns")
    ],
}.get(TARGET, [])


class Compiler:
    """A process that compiles, started anew after one that died."""

    def __init__(self, command):
        self.command = command
        self.process = self.log = None

    def start(self):
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, encoding="utf-8"
        )

    def stop(self):
        """How the process ended, with the last line it wrote."""
        self.process.stdin.close()
        status = self.process.wait()
        self.process.stdout.close()
        self.log.seek(0)
        lines = self.log.read().decode(errors="replace").splitlines()
        self.log.close()
        self.process = None
        how = f"ended by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
        return f"{how}: {lines[-1] if lines else 'no output'}"

    def compile(self, numbers):
        """None, or what the compiler says against a program of these cases."""
        if self.process is None:
            self.start()
        watch = threading.Timer(HANG_S, self.process.kill)
        watch.start()
        try:
            print(*numbers, file=self.process.stdin, flush=True)
            answer = self.process.stdout.readline().rstrip("\n")
        except BrokenPipeError:
            answer = ""
        finally:
            watch.cancel()
        if answer == "ok":
            return None
        return answer.removeprefix("error ") if answer else self.stop()


def culprits(compiler, numbers):
    """{cases: words}: the smallest programs that fail."""
    words = compiler.compile(numbers)
    if words is None:
        return {}
    if len(numbers) == 1:
        return {tuple(numbers): words}
    half = len(numbers) // 2
    return {**culprits(compiler, numbers[:half]), **culprits(compiler, numbers[half:])} or {tuple(numbers): words}


FAKE = """
import os, sys
for line in sys.stdin:
    cases = {int(word) for word in line.split()}
    if 5 in cases:
        print("it breaks", file=sys.stderr, flush=True)
        os.abort()
    print("error 9 is wrong" if 9 in cases else "error too many" if {2, 3} <= cases else "ok", flush=True)
"""


class Culprits(unittest.TestCase):
    """What is said of a compiler that can't do everything."""

    def test_are_found_alone(self):
        compiler = Compiler([sys.executable, "-c", FAKE])
        found = culprits(compiler, list(range(16)))
        compiler.stop()
        self.assertEqual(
            found, {(2, 3): "too many", (5,): "ended by SIGABRT: it breaks", (9,): "9 is wrong"}
        )


class Ops(unittest.TestCase):
    def test_all_compile(self):
        listed = subprocess.run(COMPILER, stdout=subprocess.PIPE, encoding="utf-8", check=True).stdout.splitlines()
        rows = {line.split()[1] for line in listed if line.startswith("row ")}
        cases = [line.split(maxsplit=2)[1:] for line in listed if line.startswith("case ")]
        self.assertEqual(rows, {name.split()[0] for _, name in cases})
        numbers = [i for i, (devices, _) in enumerate(cases) if devices == DEVICES]
        self.assertTrue(numbers)

        probe = subprocess.run(
            [*COMPILER, TARGET], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, encoding="utf-8"
        )
        if probe.returncode == NO_PLUGIN:
            self.skipTest(probe.stdout.strip())
        self.assertEqual(probe.returncode, 0)

        compiler, failed = Compiler([*COMPILER, TARGET]), {}
        for begin in range(0, len(numbers), BATCH):
            failed.update(culprits(compiler, numbers[begin : begin + BATCH]))
        if compiler.process is not None:
            compiler.stop()
        report = [f"{', '.join(cases[i][1] for i in together)}: {words}" for together, words in failed.items()]
        known = [line for line in report if line.startswith(tuple(REFUSED)) and ": unsupported: " in line]
        self.assertEqual(len(known), len(REFUSED), "the compiler does what REFUSED says it can't")
        report = [line for line in report if line not in known]
        self.assertEqual(report, [], f"{TARGET} refuses {len(report)} of {len(numbers)} cases:\n" + "\n".join(report))


if __name__ == "__main__":
    unittest.main()
