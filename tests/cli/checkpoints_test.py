"""Commands about checkpoints and runs."""

import json
import shutil
import struct
import xml.etree.ElementTree

from support import CommandTest, metrics, run, start, tensors


class Daily(CommandTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.base = cls.root / "runs" / "base"
        cls.trained = cls.train(cls(), cls.base, "eval_every_n_steps=10", "keep.best_n=1")

    def step(self, number):
        return self.base / f"step_{number:08d}"

    def test_lists_and_shows(self):
        self.check(self.trained)
        lines = self.check(run("checkpoint", "list", self.base)).stdout.splitlines()
        self.assertEqual([line.split()[0] for line in lines], ["step", "5", "10", "15", "20"])
        self.assertIn(f"eval/loss={metrics(self.base, 'eval/loss')[20]:.5g}", lines[-1])
        shown = self.check(run("checkpoint", "show", self.base, "--tensors", "embedding.*")).stdout
        self.assertRegex(shown, r"f32\[259,32\] +32.4 KiB  embedding.weight\n")
        self.assertNotIn("attention", shown)
        self.check_error(run("checkpoint", "show", self.base, "--tensors", "["), 2, "invalid_argument at tensors", '"["')
        none = run("checkpoint", "show", self.base, "--tensors", "zzz")
        self.check_error(none, 2, "no tensor has such a name", 'got "zzz"')
        self.assertEqual(none.stdout, "")
        count = sum(len(data) // 4 for name, (_, _, data) in tensors(self.step(20)).items() if not name.startswith("learner."))
        self.assertRegex(shown, rf"model: \d+ tensors, {count} elements")

    def test_compares(self):
        same = self.check(run("checkpoint", "diff", self.step(20), self.base)).stdout
        self.assertIn(" 0 with other values", same)
        done = self.check(run("checkpoint", "diff", self.step(15), self.step(20), "--values")).stdout
        before, after = tensors(self.step(15)), tensors(self.step(20))
        floats = lambda data: struct.unpack(f"<{len(data) // 4}f", data)
        name = "embedding.weight"
        most = max(abs(a - b) for a, b in zip(floats(before[name][2]), floats(after[name][2])))
        self.assertIn(f"{name}: differs by up to {most:.6g}\n", done)

    def test_verifies_and_exports(self):
        self.check(run("checkpoint", "verify", self.base))
        copy = shutil.copytree(self.base, self.root / "copy")
        shard = copy / "step_00000015" / "shard_00000.safetensors"
        shard.write_bytes(shard.read_bytes()[:-1] + b"\x55")
        self.check_error(run("checkpoint", "verify", copy), 5, "damaged", "step_00000015")
        for pair in ((shard.parent, self.step(15)), (self.step(15), shard.parent)):
            done = run("checkpoint", "diff", *pair)
            self.check_error(done, 5, "damaged", str(shard), "tensor")
            self.assertEqual(done.stdout, "")
        file = self.root / "model.safetensors"
        self.check(run("checkpoint", "export", self.base, file))
        data = file.read_bytes()
        header = json.loads(data[8 : 8 + struct.unpack("<Q", data[:8])[0]])
        self.assertEqual(header.pop("__metadata__")["tenon.step"], "20")
        self.assertEqual(set(header), {n for n in tensors(self.step(20)) if not n.startswith("learner.")})
        self.check_error(run("checkpoint", "export", self.base, file), 6, "the file exists")
        self.check_error(run("checkpoint", "list", self.root / "none"), 5, "not_found")

    def test_tables_and_plots(self):
        table = self.check(run("runs", self.root / "runs")).stdout
        self.assertRegex(table, r"base +finished +20/20 +20 ")
        svg = self.root / "loss.svg"
        drawn = self.check(run("plot", self.base, "--metric", "train/loss", "--metric", "eval/loss", "--svg", svg)).stdout
        self.assertIn("* " + str(self.base), drawn)
        self.assertEqual(len(list(xml.etree.ElementTree.parse(svg).iter("{http://www.w3.org/2000/svg}polyline"))), 2)
        self.check_error(run("plot", self.base, "--metric", "train/lost"), 2, "train/loss")

    def test_a_dry_run_writes_nothing(self):
        done = self.check(self.train(self.root / "dry", options=["--dry_run"]))
        self.assertIn("dry run: nothing was trained or written", done.stdout)
        self.assertFalse((self.root / "dry").exists())

    def test_two_runs_in_one_directory(self):
        directory = self.root / "busy"
        with start(*self.train_command(directory, "max_steps=100000")) as first:
            while not metrics(directory):
                self.assertIsNone(first.poll())
            self.check_error(self.train(directory), 6, f"process {first.pid} on ", "another directory")
            self.assertRegex(self.check(run("runs", directory)).stdout, r"busy +running ")
            first.terminate()
            first.stderr.read()
