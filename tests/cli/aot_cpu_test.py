"""`tenon aot` with the CPU's plugin alone."""

import json
import os
import pathlib
import tempfile
import unittest

from support import CommandTest, run

MESH = ["--set", "mesh.fsdp=2", "--set", "mesh.model=2"]
CHIP = """
[abacus]
platform = "cpu"
memory_gib = 0.0001
memory_source = "invented"
memory_gb_s = 1.0
bandwidth_source = "invented"
tflops = { bf16 = 0.001 }
tflops_source = "invented"
link_gb_s = 1.0
link_source = "invented"
host_devices = 4
network_gb_s = 0.5
network_source = "invented"
"""


class AotWithoutPlugins(CommandTest):
    def test_the_cpu(self):
        done = self.check(run("aot", "austen_tiny", "--target", "cpu:4", *MESH, "--json"))
        report = json.loads(done.stdout)
        self.assertEqual((report["devices"], report["mesh"], report["fits"]), (4, "fsdp=2,model=2", True))
        self.assertIsNone(report["bound_s"])  # its speeds aren't known
        gathers = [total for total in report["collectives"] if total["kind"] == "all-gather"]
        self.assertIn("fsdp", {total["axes"] for total in gathers})
        self.assertGreater(sum(total["count"] for total in gathers), 1)
        own = report["bytes"]["own_account"]
        self.assertAlmostEqual(own["optimizer"] + own["parameters"] + own["inputs"], report["bytes"]["arguments"], delta=64)

    def test_examples_split_over_several_axes(self):
        """Where the compiler gave every device the whole of an array, it would be an error."""
        for experiment, devices, sizes in (
            ("austen_tiny", 8, {"data": 2, "fsdp": 4}),
            ("qwen3_moe_test", 4, {"expert": 2, "fsdp": 2}),
        ):
            with self.subTest(experiment, mesh=sizes):
                mesh = [part for axis, size in sizes.items() for part in ("--set", f"mesh.{axis}={size}")]
                report = json.loads(self.check(run("aot", experiment, "--target", f"cpu:{devices}", *mesh, "--json")).stdout)
                self.assertTrue(report["compiled"])

    def test_writing_text(self):
        options = ["--program", "generate", "--rows", "2", "--prompt_tokens", "16", "--max_length", "64", "--json"]
        command = ["aot", "austen_tiny", "--target", "cpu:2", "--set", "mesh.model=2", *options]
        report = json.loads(self.check(run(*command)).stdout)
        self.assertEqual(set(report), {"prefill", "decode"})
        self.assertGreater(report["prefill"]["flops"]["step"], 8 * report["decode"]["flops"]["step"])
        self.assertGreater(report["decode"]["bytes"]["own_account"]["cache"], 0)
        half = json.loads(self.check(run(*command, "--set", "model.param_dtype=bf16")).stdout)
        whole, halved = (each["decode"]["bytes"]["own_account"]["parameters"] for each in (report, half))
        self.assertEqual(2 * halved, whole)
        self.check_error(run("aot", "austen_tiny", "--target", "cpu", "--program", "x"), 2, "train or generate")
        for bad, words in (
            (("--rows", "0"), "at --rows: not a size of texts (got 0, expected 1 to 1048576)"),
            (("--rows", "10000000"), "got 10000000, expected 1 to 1048576"),
            (("--prompt_tokens", "0"), "at --prompt_tokens"),
            (("--max_length", "100000000"), "at --max_length: not a size of texts (got 100000000, expected 257 to 16777216"),
        ):
            self.check_error(run("aot", "austen_tiny", "--target", "cpu", *options[:2], *bad), 2, words)
        short = ["--prompt_tokens", "64", "--max_length", "64"]
        self.check_error(run("aot", "austen_tiny", "--target", "cpu", *options[:4], *short), 2, "room behind its prompt")
        self.check_error(run("aot", "digits", "--target", "cpu", *options), 2, "can't write text")

    def test_writing_texts_of_a_source(self):
        sizes = [word for size in ("num_layers=1", "model_dim=32", "hidden_dim=64") for word in ("--set", "args." + size)]
        options = ["--program", "generate", "--rows", "2", "--prompt_tokens", "64", "--json"]
        command = ["aot", "austen_spans", "--target", "cpu:2", "--set", "mesh.model=2", *sizes, *options]
        report = json.loads(self.check(run(*command, "--max_length", "16")).stdout)
        self.assertGreater(report["prefill"]["flops"]["step"], 8 * report["decode"]["flops"]["step"])
        longer = json.loads(self.check(run(*command[:-2], "128", "--json", "--max_length", "16")).stdout)
        cache = [each["decode"]["bytes"]["own_account"]["cache"] for each in (report, longer)]
        self.assertGreater(cache[1], 1.5 * cache[0])
        self.check_error(run(*command, "--max_length", "1"), 2, "room behind its first token")

    def test_nothing_compiles_for_this_chip(self):
        done = self.check(run("aot", "llama2_7b", "--target", "trn2:64x16"))
        self.assertIn('matches "neuron-trn2-1024"', done.stderr)
        out = done.stdout
        self.assertRegex(out, r"^1024 x trn2, mesh fsdp=256,model=4\ntrain step: not compiled\n")
        same = run("aot", "llama2_7b", "--target", "trn2:64x16", "--instance", "neuron-trn2-1024")
        self.assertEqual(same.stdout, out)
        self.assertIn("\na step takes at least ", out)
        self.assertTrue(out.endswith("\nfits: the arguments do (not compiled)\n"), out)

    def test_what_is_known_without_compiling(self):
        done = self.check(run("aot", "llama2_7b", "--target", "h100:1x8", "--analytic", "--json"))
        report = json.loads(done.stdout)
        self.assertEqual((report["compiled"], report["fits"], report["compile_s"]), (False, None, None))
        self.assertIn("attention by cudnn_attention", report["kernels"][0])

    def test_sizes_of_texts_are_refused_for_a_training_step(self):
        for option in ("--rows", "--prompt_tokens", "--max_length"):
            done = run("aot", "austen_tiny", "--target", "cpu:1", option, "3")
            self.check_error(done, 2, f"invalid_argument at {option}", "--program generate")

    def test_an_outer_part_that_cuts_through_a_node(self):
        options = ["--set", "data.batch_size=12", "--set", "mesh.fsdp=12", "--set", "mesh.outer.fsdp=2"]
        done = run("aot", "austen_tiny", "--target", "h100:3x4", "--analytic", *options)
        self.check_error(done, 2, "mesh_mismatch at mesh.outer", "2 parts, expected 3, as many as there are nodes")

    def test_a_chip_of_ones_own(self):
        with tempfile.TemporaryDirectory() as folder:
            device = pathlib.Path(folder) / "abacus.toml"
            device.write_text(CHIP)
            there = ["aot", "austen_tiny", "--target", "abacus:1x4", "--device", device, *MESH]
            done = run(*there, "--json")  # compiled with its plugin, the CPU's
            self.check_error(done, 3, "out_of_memory", "abacus", "at most 104.9 KiB")
            report = json.loads(done.stdout)
            self.assertEqual((report["compiled"], report["fits"]), (True, False))
            self.assertGreater(report["bound_s"], 0)
            self.assertIn("not compiled", self.check(run(*there, "--analytic")).stdout)
            device.write_text("[abacus]\nmemory_gib = 1\n")
            done = run("aot", "austen_tiny", "--target", "abacus:1x4", "--device", device)
            self.check_error(done, 2, "abacus.toml:2")

    def test_an_instance_of_another_machine(self):
        command = ["llama2_7b", "--target", "h100:32x8", "--instance", "tpu-v5p-512"]
        words = ("at --instance", "got tpu-v5p-512: 256 x v5p", "as gpu-h100-256")
        self.check_error(run("aot", *command, "--analytic"), 2, *words)
        self.check_error(run("tune", *command, "--global_batch", "256", "--dir", "/dev/null/x"), 2, *words)

    def test_sizes_beyond_counting(self):
        for sizes in (("model_dim=2147483648",), ("batch_size=1048576", "sequence_length=1048576", "model_dim=2097152")):
            sets = [word for size in sizes for word in ("--set", f"args.{size}")]
            huge = run("aot", "austen_tiny", "--target", "cpu:1", *sets)
            self.check_error(huge, 2, "the size of a shape doesn't fit in 64 bits")
        rows = ["--program", "generate", "--rows", "1048576", "--prompt_tokens", "16777214", "--max_length", "16777215"]
        done = run("aot", "austen_tiny", "--target", "cpu:1", *rows)
        self.check_error(done, 3, "out_of_memory at ", "an array is larger than any device's memory")
        rows = ["--set", "args.batch_size=4096", "--set", "args.sequence_length=1048576"]
        done = run("aot", "austen", "--target", "cpu:1", *rows)
        self.check_error(done, 3, "out_of_memory at ", "XLA's compiler for CPUs", "at most 128.0 GiB")

    def test_layers_beyond_what_is_compiled_apart(self):
        layers = ["austen_tiny", "--set", "args.num_layers=100000000"]
        words = ("decoder.num_layers", 'must be at most 1024 with form = "unroll"')
        unrolled = ["--set", "model.decoder.form=unroll"]
        self.check_error(run("aot", *layers, *unrolled, "--target", "cpu:1"), 2, *words)
        self.check_error(run("aot", *layers, "--target", "cpu:1", "--program", "generate"), 2, *words)

    def test_targets_that_do_not_exist(self):
        self.check_error(run("aot", "austen_tiny", "--target", "v5p:1024x1024"), 2, "1048576 chips", "at most 8960")
        self.check_error(run("aot", "austen_tiny", "--target", "h1000:8"), 2, "a100, b200, h100, h200, mi300x")
        self.check_error(run("aot", "austen_tiny", "--target", "v5p:4"), 2, "v5p:2x2x1")
        env = {"TENON_PLUGIN_PATH": "/nowhere"}
        self.check_error(run("aot", "austen_tiny", "--target", "mi300x:1x8", env=env), 4, "TENON_PLUGIN_PATH")

    def test_saved_programs(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "program"
            self.check(run("aot", "austen_tiny", "--target", "cpu:1", "--save", path))
            head = path.read_bytes().split(b"\n")[:6]
            self.assertEqual(head[0], b"tenon-program-1")
            self.assertEqual(head[4], b"chip 1 x cpu")
            done = run("aot", "austen_tiny", "--target", "trn2:1x16", "--save", path)
            self.check_error(done, 2, "--save")
            os.mkfifo(pathlib.Path(folder) / "pipe")
            for bad, why in ((f"{folder}/pipe", "it is a device or a pipe"), (folder, "it is a folder"), ("", "it has no name"), (path / "x", "its folder isn't there")):
                done = run("aot", "austen_tiny", "--target", "cpu:1", "--save", bad)
                self.check_error(done, 6, "at --save", why, str(bad))
                self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    unittest.main()
