"""Modules from plug-in libraries."""

import os
import pathlib

from support import FINAL, CommandTest, run, tensors

PLUGINS = pathlib.Path(os.environ["TENON_TEST_PLUGINS"])
PLUGIN = ["--plugin", PLUGINS / "squared_relu.so"]
FFN = "model.decoder.pattern.0.feed_forward"


class Plugins(CommandTest):
    def test_trains_and_writes_with_a_module_of_its_own(self):
        directory = self.root / "run"
        own = (f"{FFN}.type=SquaredReluFeedForward", f"{FFN}.power=3")
        done = self.check(self.train(directory, *own, options=PLUGIN))
        self.assertRegex(done.stdout.splitlines()[-1], FINAL)
        saved = tensors(directory / "step_00000020")
        self.assertIn("decoder.layers.1.feed_forward.up.weight", saved)
        self.assertNotIn("decoder.layers.1.feed_forward.gate.weight", saved)
        self.check(run("generate", directory, *PLUGIN, "--max_tokens", 3))
        self.check_error(run("generate", directory), 2, "unknown_name", "SquaredReluFeedForward")

    def test_its_fields_are_like_any_other(self):
        show = ["config", "show", "austen_tiny", *PLUGIN, "--set", f"{FFN}.type=SquaredReluFeedForward", "--set"]
        shown = self.check(run(*show, f"{FFN}.power=3")).stdout
        self.assertIn(f"{FFN}.power = 3.0\n", shown)
        self.assertIn(f"{FFN}.hidden_dim = 64\n", shown)  # kept from what it replaced
        self.check_error(run(*show, f"{FFN}.power=0.5"), 2, "invalid_argument", f"{FFN}.power")
        self.check_error(run(*show, f"{FFN}.powers=3"), 2, "unknown_name", "power")

    def test_its_modifier_and_experiment(self):
        shown = self.check(run("config", "show", "llama3_405b", *PLUGIN, "--modify", "UseSquaredRelu{power = 3}"))
        self.assertIn(f'{FFN}.type: "GatedFeedForward" -> "SquaredReluFeedForward"\n', shown.stderr)
        self.assertIn(f"{FFN}.power = 3.0\n", shown.stdout)
        self.assertIn("austen_squared_relu ", self.check(run("config", "list", *PLUGIN, *PLUGIN)).stdout)
        again = ["--plugin", PLUGINS / ".." / PLUGINS.name / "squared_relu.so"]
        self.check(run("config", "list", *PLUGIN, *again))
        shown = self.check(run("config", "show", "austen_squared_relu", *PLUGIN)).stdout
        self.assertIn(f"{FFN}.hidden_dim = 512\n", shown)
        self.assertIn(f"{FFN}.power = 2.0\n", shown)
        self.check_error(run("config", "show", "austen_squared_relu"), 2, "unknown_name")
        self.check_error(run("config", "show", "austen", "--modify", "UseSquaredRelu"), 2, "unknown_name")

    def test_its_hook_ends_a_run(self):
        hook = ("max_steps=1000", "hooks.target.type=LossTarget", "hooks.target.loss=5")
        done = self.check(self.train(self.root / "hook", *hook, options=PLUGIN))
        self.assertRegex(done.stdout, r"stopped at step \d+: the loss is where it should be\n")
        self.assertLess(int(done.stdout.splitlines()[-1].split("step=")[1].split()[0]), 1000)

    def test_shapes_that_do_not_fit(self):
        misfit = ["--plugin", PLUGINS / "misfit.so"]
        done = self.train(self.root / "misfit", f"{FFN}.type=MisfitFeedForward", options=misfit)
        where = "decoder.layers.0::1.feed_forward.down"
        self.check_error(done, 2, f"shape_mismatch at {where}", "[8,32,48]", "[..., 49]")

    def test_libraries_that_are_no_plugins(self):
        def load(path):
            return run("config", "show", "austen_tiny", "--plugin", path)

        self.check_error(load(PLUGINS / "old_abi.so"), 4, "plugin", "old_abi.so", "tenon-0.0.1", "another Tenon")
        self.check_error(load(PLUGINS / "no_tag.so"), 4, "plugin", "no_tag.so", "ABI tag", "TENON_PLUGIN_ABI")
        self.check_error(load(PLUGINS / "no_entry.so"), 4, "plugin", "no_entry.so", "tenon_plugin")
        self.check_error(load("/nowhere.so"), 4, "plugin", "/nowhere.so")
        self.check_error(load(self.text), 4, "plugin", "text.txt")
