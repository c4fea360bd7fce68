"""Running the `tenon` command in tests, and reading what it leaves behind."""

import contextlib
import json
import os
import pathlib
import random
import shutil
import struct
import subprocess
import tempfile
import unittest

COMMAND = os.environ["TENON_COMMAND"]
FINAL = r"^final: step=(\d+) train_loss=\S+ eval_loss=\S+ bits_per_byte=\S+ tokens_per_s=\S+$"


def run(*args, env=None, **kwargs):
    """The finished process, with its output as text."""
    return subprocess.run(
        [COMMAND, *map(str, args)],
        capture_output=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        env={**os.environ, **(env or {})},
        timeout=300,
        **kwargs,
    )


def start(*args):
    command = [COMMAND, *map(str, args)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8")


@contextlib.contextmanager
def mounted(directory, *how):
    """Yields a path to `directory` with `mount HOW directory` done, which nothing else sees and which ends by itself."""
    directory.mkdir()
    # The mount lives as long as a process in a mount namespace of its own; /proc leads into that.
    script = 'mount "$@" && echo mounted && read -r _'
    holder = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", *how, directory]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen(holder, encoding="utf-8", **pipes) as process:
        if (answer := process.stdout.readline()) != "mounted\n":
            raise unittest.SkipTest(f"nothing can be mounted here: {answer.strip()}")
        try:
            yield pathlib.Path(f"/proc/{process.pid}/root{directory}")
        finally:
            process.stdin.close()


def metrics(directory, name="train/loss"):
    """{step: value}: of whole lines of metrics.jsonl; none when there is no file yet."""
    try:
        text = (pathlib.Path(directory) / "metrics.jsonl").read_text()
    except FileNotFoundError:
        return {}
    rows = [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
    return {row["step"]: row[name] for row in rows if name in row}


def tensors(checkpoint):
    """{name: (dtype, shape, bytes)} of all safetensors files of a checkpoint."""
    out = {}
    for path in sorted(pathlib.Path(checkpoint).glob("*.safetensors")):
        data = path.read_bytes()
        (length,) = struct.unpack("<Q", data[:8])
        header, body = json.loads(data[8 : 8 + length]), data[8 + length :]
        header.pop("__metadata__", None)
        for name, entry in header.items():
            begin, end = entry["data_offsets"]
            out[name] = (entry["dtype"], entry["shape"], body[begin:end])
    return out


class CommandTest(unittest.TestCase):
    """A directory of its own for each class of tests, with a text in it."""

    @classmethod
    def setUpClass(cls):
        cls.root = pathlib.Path(tempfile.mkdtemp(prefix="tenon_cli_"))
        cls.addClassCleanup(shutil.rmtree, cls.root)
        words, chance = "it is a truth that all the men of good fortune must be in want".split(), random.Random(1)
        cls.text = cls.root / "text.txt"
        cls.text.write_text(" ".join(chance.choice(words) for _ in range(4000)))

    def train_command(self, directory, *settings):
        """Trains austen_tiny on the text, logging and saving often."""
        defaults = [f"data.path={self.text}", "log_every_n_steps=1", "save_every_n_steps=5", "keep.last_n=100"]
        sets = [word for setting in [*defaults, *settings] for word in ("--set", setting)]
        return ["train", "austen_tiny", "--dir", directory, *sets]

    def train(self, directory, *settings, options=(), **kwargs):
        return run(*self.train_command(directory, *settings), *options, **kwargs)

    def check(self, done):
        self.assertEqual(done.returncode, 0, f"{done.stdout}\n{done.stderr}")
        return done

    def check_error(self, done, status, *parts):
        """One line on stderr that says what is wrong, with these parts."""
        self.assertEqual(done.returncode, status, done.stderr or done.stdout)
        lines = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertEqual(done.stderr.splitlines()[-1], lines[0])
        for part in parts:
            self.assertIn(part, lines[0])
