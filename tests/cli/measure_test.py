"""`tenon measure`: steps that are timed, of which nothing is kept."""

import json

from support import CommandTest, metrics, run


class Measure(CommandTest):
    def measure(self, *options):
        return run("measure", "austen_tiny", "--set", f"data.path={self.text}", *options, cwd=self.root)

    def test_the_losses_are_those_of_training(self):
        done = self.check(self.measure("--steps", 3, "--warm_up", 1, "--json"))
        report = json.loads(done.stdout)
        self.check(self.train(self.root / "run", "max_steps=20"))
        wanted = list(metrics(self.root / "run").values())[:4]
        self.assertEqual(report["losses"], wanted)
        self.assertEqual(len(report["step_s"]), 3)
        self.assertAlmostEqual(report["rate"], 8 * 32 / report["seconds"], delta=1)
        self.assertIsNone(report["device_peak_bytes"], "the CPU's plugin doesn't count")
        self.assertIsNone(report["mfu"])
        self.assertGreater(report["expected_peak_bytes"], 0)
        self.assertIn("by cpu_attention", report["kernels"][0])
        self.assertFalse((self.root / "runs").exists(), "nothing is kept")

    def test_for_people(self):
        text = self.check(self.measure("--steps", 2, "--platform", "cpu:2")).stdout
        self.assertRegex(text, r"^2 x cpu \(cpu\), mesh data=2\n")
        self.assertRegex(text, r"\n2 steps of [0-9.]+ s \([0-9.]+ to [0-9.]+\): \d+ tokens/s\n")
        self.assertIn("not counted by the plugin\n", text)

    def test_mistakes(self):
        self.check_error(self.measure("--steps", 0), 2, "--steps", "1 to 10000")
        self.check_error(self.measure("--platform", "cpu:3"), 2, "mesh")
        self.check_error(self.measure("--device", "trn2"), 4, "neuron")
