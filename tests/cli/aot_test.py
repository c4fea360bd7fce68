"""`tenon aot`, with the plugins that are installed."""

import json
import pathlib
import unittest

from support import CommandTest, run

MESH = ["--set", "mesh.fsdp=2", "--set", "mesh.model=2"]


class Aot(CommandTest):
    def aot(self, target, *options):
        done = run("aot", "austen_tiny", "--target", target, *options)
        if done.returncode == 4 and "scripts/setup --target" in done.stderr:
            self.skipTest(done.stderr.strip())
        return done

    def check_report(self, target, kind):
        """Needs no data: there is none under austen_tiny's path here."""
        out = self.check(self.aot(target, *MESH, "--set", "data.path=/nowhere")).stdout
        self.assertRegex(out, rf"^4 x {kind}, mesh fsdp=2,model=2\n")
        self.assertRegex(out, r"\ntrain step: compiled in \d+\.\d s, \d+\.\d{3} GFLOPs\n")
        self.assertRegex(out, r"\n +\d+ x all-reduce +over ")
        for part in ("arguments", "results", "temporaries", "code", "in all", "peak"):
            self.assertRegex(out, rf"\n  {part} +\d+(\.\d)? [KM]?i?B\b")
        self.assertTrue(out.endswith("\nfits: yes\n"), out)

    def check_json(self, target):
        report = json.loads(self.check(self.aot(target, *MESH, "--json")).stdout)
        for key in ("fits", "bytes", "flops", "collectives", "bound_s", "compile_s"):
            self.assertIn(key, report)
        self.assertIs(report["fits"], True)
        own = report["bytes"]["own_account"]
        self.assertLess(own["parameters"] + own["optimizer"], report["bytes"]["arguments"] * 1.01)
        self.assertGreater(report["flops"]["step"], report["flops"]["step_unmasked"])
        self.assertTrue({"fsdp", "model"} & {total["axes"] for total in report["collectives"]})
        return report

    def test_gpu(self):
        self.check_report("h100:4", "NVIDIA H100 80GB HBM3")
        self.assertGreater(self.check_json("h100:4")["bound_s"], 0)
        done = self.aot("h100:4", "--set", "mesh.fsdp=3")
        self.check_error(done, 2, "mesh_mismatch")

    def test_tpu(self):
        self.check_report("v5p:2x2x1", "TPU v5")
        self.assertGreater(self.check_json("v5p:2x2x1")["bound_s"], 0)
        self.check_error(self.aot("v5p:3x1x1"), 4, "v5p:3x1x1", "not divisible")

    def test_other_gpus(self):
        for target in ("h200:1x4", "a100:1x4", "b200:1x4"):
            self.check(self.aot(target, *MESH))

    def test_slices(self):
        out = self.check(self.aot("v5p:2x2x1*2", "--set", "mesh.data=2", *MESH)).stdout
        self.assertRegex(out, r"^8 x TPU v5, mesh data=2,fsdp=2,model=2\n")
        self.assertRegex(out, r" x send +over slices +of 2 ")
        self.assertRegex(out, r"network (?!0\n)[0-9.e-]+\n")

    def crossing(self, target, *options):
        """The axes of what goes over the network."""
        done = self.aot(target, "--set", "mesh.data=2", "--set", "mesh.fsdp=4", *options, "--json")
        report = json.loads(self.check(done).stdout)
        return {total["axes"] for total in report["collectives"] if total["network_bytes"] > 0}

    def test_an_outer_part_says_what_crosses(self):
        """Between nodes, and between slices; without one it is the outermost axis. Some sums are over both axes."""
        self.assertEqual(self.crossing("h100:2x4") - {"data+fsdp"}, {"data"})
        self.assertEqual(self.crossing("h100:2x4", "--set", "mesh.outer.fsdp=2") - {"data+fsdp"}, {"fsdp"})
        self.assertEqual(self.crossing("v5p:2x2x1*2", "--set", "mesh.outer.fsdp=2"), {"slices"})

    def test_too_large_for_a_gpu(self):
        """XLA's GPU compiler goes on: we say so, after all the numbers."""
        done = self.aot("h100:1", "--set", "model.vocab_size=400000000")
        self.check_error(done, 3, "out_of_memory", "h100", "at most 79.1 GiB")
        self.assertTrue(done.stdout.endswith("\nfits: no\n"), done.stdout)

    def test_sizes_that_the_compiler_cannot_count(self):
        """XLA's GPU compiler throws an exception there."""
        done = self.aot("h100:1", "--set", "args.batch_size=2000000000")
        self.check_error(done, 4, "compile", "Invalid dimension size", "take smaller ones")

    def test_plugins_of_another_platform(self):
        """libtpu would wait for a TPU's metadata for minutes."""
        plugins = pathlib.Path(__file__).resolve().parents[2] / ".deps" / "plugins"
        tpu, cuda = plugins / "tpu" / "libtpu.so", plugins / "cuda" / "xla_cuda_plugin.so"
        rocm = plugins / "rocm" / "xla_rocm_plugin.so"
        train = ["train", "austen_tiny", "--dry_run", "--set", f"data.path={self.text}"]
        for plugin, shown, wanted, command in (
            (tpu, "tpu", "cuda", ["aot", "austen_tiny", "--target", "h100:1"]),
            (tpu, "tpu", "cpu", train),
            (cuda, "cuda", "tpu", ["aot", "austen_tiny", "--target", "v5p:1x1x1"]),
            (cuda, "cuda", "rocm", [*train, "--platform", "rocm"]),
            (rocm, "rocm", "cuda", ["aot", "austen_tiny", "--target", "h100:1"]),
        ):
            with self.subTest(shown, wanted=wanted):
                if not plugin.exists():
                    self.skipTest(f"scripts/setup --target {shown}")
                done = run(*command, env={"TENON_PLUGIN_PATH": str(plugin)})
                self.check_error(done, 4, f"plugin at {plugin}", f"got {shown}, expected {wanted}", "TENON_PLUGIN_PATH names it")

    def test_too_large_for_a_tpu(self):
        """libtpu makes no program then: what we know before it is compiled is shown."""
        done = self.aot("v5e:1x1", "--set", "model.vocab_size=400000000")
        self.check_error(done, 3, "out_of_memory at optimizer ", "iB (estimated): ", "HBM")
        self.assertRegex(done.stdout, r"\n  saved activations +\d.* if each is split over all devices\nby module:\n")
        self.assertTrue(done.stdout.endswith("\nfits: no\n"), done.stdout)


if __name__ == "__main__":
    unittest.main()
