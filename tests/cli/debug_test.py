"""Looking into a training step: `tenon debug`, `--trap` and `--profile`."""

import json
import os
import pathlib

from support import CommandTest, metrics, run

PLUGIN = ["--plugin", pathlib.Path(os.environ["TENON_TEST_PLUGINS"]) / "squared_relu.so"]
FFN = "model.decoder.pattern.0.feed_forward"


class Dump(CommandTest):
    def dump(self, *options, **kwargs):
        return run("debug", "dump", "austen_tiny", *options, **kwargs)

    def test_stages(self):
        whole = self.check(self.dump()).stdout
        stages = [line for line in whole.splitlines() if line.startswith("// ---- ")]
        self.assertEqual(stages[0], "// ---- traced ----")
        self.assertIn("// ---- select_kernels ----", stages)
        self.assertEqual(stages[-1], "// ---- stablehlo ----")
        traced = self.check(self.dump("--stage", "traced")).stdout
        self.assertRegex(traced, r"^graph\(%0: f32")
        self.assertIn("  // decoder.layers.0::1.attention", traced)
        last = self.check(self.dump("--stage", "passes")).stdout
        self.assertLess(len(last), len(traced))
        self.assertIn(last, whole)
        self.assertIn('loc("decoder.norm/', self.check(self.dump("--stage", "stablehlo")).stdout)

    def test_files(self):
        listed = self.check(self.dump("--dir", self.root / "dump")).stdout.splitlines()
        files = sorted(path.name for path in (self.root / "dump").iterdir())
        self.assertEqual([pathlib.Path(line.split()[0]).name for line in listed], files)
        self.assertEqual((files[0], files[-1][2:]), ("00_traced.txt", "_stablehlo.mlir"))
        self.assertIn("module @tenon", (self.root / "dump" / files[-1]).read_text())

    def test_meshes(self):
        four = ["--platform", "cpu:4", "--set", "mesh.fsdp=4", "--stage", "stablehlo"]
        self.assertIn('sdy.mesh @mesh = <["fsdp"=4]>', self.check(self.dump(*four)).stdout)

    def test_devices(self):
        """Those that nothing compiles for, too; a device's mesh rule is applied, as in `tenon aot`."""
        target = ["--target", "trn2:1x16", "--stage", "stablehlo"]
        done = self.check(self.dump(*target))
        self.assertIn('matches "neuron-trn2-16"', done.stderr)
        self.assertIn('sdy.mesh @mesh = <["fsdp"=4, "model"=4]>', done.stdout)
        self.assertEqual(self.dump(*target, "--device", "trn2").stdout, done.stdout)
        self.check_error(self.dump(*target, "--device", "h100"), 2, "--device", "got h100")
        self.check_error(self.dump("--device", "h1000"), 2, "did you mean h100, ")
        self.check_error(self.dump("--device", "h100", "--platform", "cpu"), 2, "--device")

    def test_wrong(self):
        self.check_error(self.dump("--stage", "stablehloo"), 2, "unknown_name at --stage", "did you mean stablehlo?")
        self.check_error(self.dump("--platform", "cpu", "--target", "h100:1"), 2, "--target")
        self.check_error(self.dump("--target", "h100"), 2, "h100:4")
        self.check_error(self.dump("--dir", "/dev/null/x"), 6, "/dev/null")
        self.check_error(run("debug", "dump", "austin"), 2, "unknown_name", "austen")
        self.check_error(run("debug"), 2, "tenon debug --help")


class Inspect(CommandTest):
    def inspect(self, *options):
        sizes = ["data.batch_size=1", "data.sequence_length=16", f"data.path={self.text}"]
        sets = [word for size in sizes for word in ("--set", size)]
        return run("debug", "inspect", "austen_tiny", *sets, *options, env={"TENON_PLUGIN_PATH": "/nowhere"})

    def test_a_module(self):
        lines = self.check(self.inspect("--at", "decoder.layers.1.feed_forward")).stdout.splitlines()
        self.assertTrue(all(line.startswith("decoder.layers.1.feed_forward") for line in lines[:-1]))
        self.assertRegex("\n".join(lines), r"feed_forward.up.dot/dot_general  f32\[16,64\]  min -\S+  max \S+  mean")
        self.assertRegex(lines[-1], r"^loss [45678]\.\d+ over 16 tokens$")

    def test_wrong(self):
        self.check_error(self.inspect("--at", "decoder.layer.1"), 2, "unknown_name at --at", "decoder.layers.1")
        self.check_error(self.inspect("--at", "("), 2, "invalid_argument at --at")
        self.check_error(self.inspect("--at", "(" * 60000 + ")" * 60000), 2, "invalid_argument at --at", "1000 characters")
        self.check_error(self.inspect("--at", "(.+)+!"), 2, "unknown_name at --at")
        self.check_error(self.inspect(), 2, "--at")


class Trap(CommandTest):
    def test_names_the_op(self):
        directory = self.root / "trap"
        huge = (f"{FFN}.type=SquaredReluFeedForward", f"{FFN}.power=1000")
        done = self.train(directory, *huge, options=[*PLUGIN, "--trap", "nonfinite"])
        self.check_error(done, 7, "non_finite at decoder.layers.", ".feed_forward: step 1", "the op pow", "infinite")
        self.assertRegex(done.stdout, r"\ntrap: the \w+( norm)? went non-finite at decoder.layers.\d.feed_forward/pow\n")
        self.assertRegex(done.stdout, r"\ntrap:   input 0: f32\[8,32,\d+\], finite ones from 0 to ")

    def test_keeps_what_was_saved(self):
        directory = self.root / "kept"
        self.check(self.train(directory, "max_steps=5", options=["--trap", "nonfinite"]))
        done = self.train(directory, "learner.learning_rate=1e38", options=["--trap", "nonfinite"])
        self.check_error(done, 7, "non_finite")
        self.assertTrue((directory / "step_00000005").exists())
        self.assertIn("(step 5)", self.check(self.train(directory, "max_steps=7")).stdout)

    def test_wrong(self):
        self.check_error(self.train(self.root / "x", options=["--trap", "nan"]), 2, "--trap", "nonfinite")


class Profile(CommandTest):
    def test_a_trace_of_some_steps(self):
        directory = self.root / "run"
        out = self.check(self.train(directory, "max_steps=8", options=["--profile", "4:6"])).stdout
        self.assertIn("host spans only", out)
        trace = json.loads((directory / "profile" / "steps_4_6.trace.json").read_text())
        names = {event["name"] for event in trace["traceEvents"] if event["ph"] == "X"}
        self.assertLessEqual({"step 4", "step 5", "step 6", "write decoder.layers.1.feed_forward.up.weight"}, names)
        self.assertEqual(names & {"step 3", "step 7"}, set())
        self.assertEqual(len(metrics(directory)), 8)

    def test_wrong(self):
        for text in ("10", "0:3", "5:4", "a:b", ""):
            with self.subTest(text):
                done = self.train(self.root / "x", options=["--profile", text])
                self.check_error(done, 2, "--profile", "as 10:13")
        outside = self.train(self.root / "y", options=["--profile", "19:21"])
        self.check_error(outside, 2, "invalid_argument at profile", "19:21", "steps from 1 to 20")


if __name__ == "__main__":
    import unittest

    unittest.main()
