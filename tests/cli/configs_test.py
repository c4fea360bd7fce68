"""Looking at configs, changing them by modifiers and mesh rules, goldens, and completion."""

import json
import os
import pathlib
import shutil
import subprocess

from support import COMMAND, CommandTest, run

GREETING = ("mesh rule 1, \"tpu-(v5e|v5litepod)-256\", matches \"tpu-v5e-256\"\nSetMesh: 1 change\n"
            "  mesh.fsdp: 8 -> 256\n")


class Looking(CommandTest):
    def lines(self, *command):
        return self.check(run("config", *command)).stdout.splitlines()

    def test_diff_from_default_is_what_was_set(self):
        short = self.lines("show", "llama2_7b", "--diff_from_default")
        whole = self.lines("show", "llama2_7b")
        self.assertLess(len(short), len(whole) / 3)
        self.assertLessEqual(set(short), set(whole))
        self.assertIn("model.vocab_size = 32000", short)
        self.assertNotIn("model.decoder.form = \"scan\"", short)

    def test_diff(self):
        self.assertEqual(self.lines("diff", "llama2_7b", "llama2_7b"), [])
        lines = self.lines("diff", "llama2_7b", "llama2_13b")
        self.assertIn("model.decoder.num_layers: 32 -> 40", lines)
        self.assertIn("model.model_dim: 4096 -> 5120", lines)

    def test_find(self):
        self.assertEqual(self.lines("find", "num_layers", "llama3_405b"), ["model.decoder.num_layers = 126"])
        self.assertEqual(self.lines("find", "model.**.theta", "llama3_8b"),
                         ["model.decoder.pattern.0.attention.qkv.theta = 5e5"])
        everywhere = self.lines("find", "model.vocab_size")
        self.assertIn("llama3_8b: model.vocab_size = 128256", everywhere)
        without = {line.split()[0] for line in self.lines("list")} - {line.split(":")[0] for line in everywhere}
        self.assertEqual(without, {"digits", "resnet50", "vit_b16"})

    def test_doc_and_tree(self):
        self.assertIn("  theta: float; default 10000.0", self.lines("doc", "RotaryQkv"))
        self.assertIn("implementations: GatedFeedForward, MixtureOfExperts, PlainFeedForward", self.lines("doc", "FeedForward"))
        self.assertIn("FeedForward", self.lines("doc"))
        self.check_error(run("config", "doc", "RotaryQvk"), 2, "unknown_name", "did you mean RotaryQkv?")
        self.assertIn("          qkv: RotaryQkv", self.lines("tree", "llama2_test"))

    def test_every_class_and_function_has_a_doc(self):
        for line in self.lines("doc"):
            if line.startswith("  "):
                self.assertRegex(line, r"^  \w+ +\S")


    def test_args_and_rules_try_all_that_is_given(self):
        for command in ("args", "rules"):
            show = ["config", command, "llama2_7b"]
            self.check_error(run(*show, "--set", "sed=1"), 2, "unknown_name", "did you mean seed?")
            self.check_error(run(*show, "--modify", "SetMsh"), 2, "unknown_name", "did you mean SetMesh?")
            self.check_error(run(*show, "--instance", ""), 2, "invalid_argument at --instance", "empty")
            done = self.check(run(*show, "--instance", "tpu-v5e-256", "--set", "seed=1"))
            self.assertTrue(done.stderr.startswith(GREETING), done.stderr)


class Changing(CommandTest):
    def test_mesh_rules(self):
        done = self.check(run("config", "show", "llama2_7b", "--instance", "tpu-v5e-256"))
        self.assertIn("\nmesh.fsdp = 256\n", done.stdout)
        self.assertTrue(done.stderr.startswith(GREETING), done.stderr)
        none = run("config", "show", "llama2_7b", "--instance", "abacus-7")
        self.assertRegex(none.stderr, r'^no mesh rule matches "abacus-7": there are \d+; `tenon rules list llama2_7b` shows them\n$')
        self.assertEqual(self.check(none).stdout, run("config", "show", "llama2_7b").stdout)

    def test_training_follows_the_mesh_rule(self):
        rule = "mesh_rules=[{instance = 'cpu-.*', modifiers = [{type = 'AccumulateGradients', steps = 2}]}]"
        done = self.check(self.train(self.root / "run", rule, options=["--instance", "cpu-1"]))
        self.assertIn("accumulation = 2\n", (self.root / "run" / "config.toml").read_text())
        self.assertIn("  accumulation: 1 -> 2\n", done.stderr)

    def test_a_file_is_an_experiment(self):
        (self.root / "common.toml").write_text('base = "austen_tiny"\nseed = 3\n')
        mine = self.root / "sub" / "mine.toml"
        mine.parent.mkdir()
        mine.write_text('base = "../common.toml"\nargs.num_layers = 3\n')
        shown = self.check(run("config", "show", mine)).stdout
        self.assertIn("\nseed = 3\n", shown)
        self.assertIn("\nmodel.decoder.num_layers = 3\n", shown)
        (self.root / "common.toml").write_text('base = "sub/mine.toml"\n')
        self.check_error(run("config", "show", mine), 2, "invalid_argument", "common.toml:1", "cycle")
        (self.root / "loop.toml").symlink_to("loop.toml")
        self.check_error(run("config", "show", self.root / "loop.toml"), 6, "io", "loop.toml")
        mine.write_text('base = "../loop.toml"\n')
        self.check_error(run("config", "show", mine), 6, "io", "mine.toml:1", "loop.toml")
        mine.write_text("seed = 3\n")
        self.check_error(run("config", "show", mine), 2, "missing_field", "mine.toml", "base =")
        mine.write_text('seed = 1\nbase = "austin"\n')
        self.check_error(run("config", "show", mine), 2, "unknown_name", "mine.toml:2", "did you mean austen")


class Rules(CommandTest):
    def planted(self, *rules):
        mine = self.root / "mine.toml"
        lines = [f"{{instance = '{instance}', modifiers = [{modifiers}]}}" for instance, modifiers in rules]
        mine.write_text(f'base = "llama2_test"\nmesh_rules = [{", ".join(lines)}]\n')
        return mine

    def test_lint_finds_each_fault(self):
        mine = self.planted(("gpu-h100-[0-9]", "{type = 'SetMesh', mesh.data = 3}"), ("gpu-h100-8", ""), ("abacus-7", ""),
                            ("cpu-1", "{type = 'SetRemat', policy = {type = 'SaveTags', device = ['q_porj']}}"))
        done = run("rules", "lint", mine)
        self.check_error(done, 2, "invalid_argument", "mesh rules have faults", "4")
        for said in ('rule 0, "gpu-h100-[0-9]": misfit: on gpu-h100-1', 'rule 1, "gpu-h100-8": shadowed: ',
                     'rule 2, "abacus-7": unreached: ', 'rule 3, "cpu-1": fails: on cpu-1: ', "q_porj"):
            self.assertIn(said, done.stdout)
        report = json.loads(run("rules", "lint", mine, "--json").stdout)
        self.assertEqual([f["fault"] for f in report["findings"]], ["misfit", "shadowed", "unreached", "fails"])

    def test_machines_of_ones_own(self):
        mine = self.planted(("abacus-.*", ""))
        machines = self.root / "machines.toml"
        machines.write_text('[abacus]\nchip = "beads"\nsizes = [1, 8, 16]\n')
        done = run("rules", "lint", mine, "--machines", machines)
        self.check_error(done, 2, "1")
        self.assertIn("misfit: on abacus-16 (16 devices): the batch of 8 doesn't divide", done.stdout)
        machines.write_text('[abacus]\nchip = "beads"\nsizes = [1, 8]\n')
        done = self.check(run("rules", "lint", mine, "--machines", machines))
        self.assertRegex(done.stdout, r"\bmine +- .* 2/2 ")
        self.assertIn("abacus-8 ", self.check(run("rules", "list", mine, "--machines", machines)).stdout)
        self.check_error(run("rules", "lint", mine, "--machines", machines, "--strict"), 2, "mesh rules have faults")
        machines.write_text("[abacus]\nchips = 1\n")
        self.check_error(run("rules", "lint", mine, "--machines", machines), 2, "machines.toml:2", "did you mean chip")
        self.check_error(run("rules", "lint", "llama2_7", "--strict"), 2, "unknown_name", "llama2_7b")


class Goldens(CommandTest):
    def test_check_and_update(self):
        mine, goldens = self.root / "mine.toml", self.root / "goldens"
        golden = ["golden", "check", mine, "--dir", goldens]
        mine.write_text('base = "austen_tiny"\n')
        self.check_error(run(*golden), 5, "not_found", "goldens", "golden update")
        goldens.mkdir()
        self.check_error(run(*golden), 2, "differ from their goldens", "1 of 1", "tenon golden update")
        self.check(run("golden", "update", mine, "--dir", goldens))
        self.assertEqual(self.check(run(*golden)).stdout, "0 of 1 goldens differ\n")
        mine.write_text('base = "austen_tiny"\nargs.hidden_dim = 96\n')
        failed = run(*golden)
        self.check_error(failed, 2, "differ")
        self.assertIn("1 experiment changes hidden_dim\n", failed.stdout)
        self.assertIn("1 experiment changes parameters weight\n", failed.stdout)
        self.check_error(run("golden", "update", mine, "--dir", mine), 6, "mine.toml")
        self.check_error(run("golden", "update", mine, "--dir", mine / "below"), 6, "mine.toml")
        self.check_error(run("golden", "check", mine, "--dir", mine), 5, "not_found", "mine.toml")
        (goldens / "mine.golden").write_text("no golden\n")
        self.check_error(run(*golden), 5, "damaged", "mine.golden:1")


class Completion(CommandTest):
    def complete(self, line):
        """What bash offers at the end of `line`."""
        script = run("completion", "bash").stdout
        words = line.split(" ")
        quoted = " ".join(f"'{word}'" for word in words)
        ask = f"{script}\nCOMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _tenon; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        path = {"PATH": f"{pathlib.Path(COMMAND).parent}:/usr/bin:/bin"}
        done = subprocess.run(["bash", "-c", ask], capture_output=True, encoding="utf-8", env=path, timeout=60)
        # A shell asks with TAB; called otherwise, compopt complains.
        self.assertRegex(done.stderr, r"^(.*compopt: not currently executing completion function\n)?$")
        return done.stdout.split()

    def test_bash(self):
        self.assertEqual(self.complete("tenon tr"), ["train"])
        self.assertEqual(self.complete("tenon config di"), ["diff"])
        variants = [f"llama3_405b{suffix}" for suffix in ("", "-flash", "-fp8", "-single_host", "-single_host-flash",
                                                   "-single_host-fp8")]
        self.assertEqual(self.complete("tenon train llama3_4"), variants)
        self.assertEqual(self.complete("tenon train llama2_7b --pl"), ["--platform", "--plugin"])
        self.assertEqual(self.complete("tenon train llama2_7b --resume n"), ["never"])
        self.assertEqual(self.complete("tenon train llama2_7b --modify Rep"), ["Replace"])
        self.assertEqual(self.complete("tenon config doc RotaryQ"), ["RotaryQkv"])
        self.assertEqual(self.complete("tenon train llama2_7b --config x"), [])

    def test_paths_a_part_at_a_time(self):
        self.assertEqual(self.complete("tenon train llama2_7b --set mod"), ["model."])
        self.assertIn("model.decoder.", self.complete("tenon train llama2_7b --set model."))
        self.assertEqual(self.complete("tenon train llama2_7b --set args.num_l"), ["args.num_layers="])

    def test_an_option_with_its_value_in_one_word(self):
        # As bash takes it apart, and as zsh leaves it.
        self.assertEqual(self.complete("tenon train llama2_7b --set = args.num_l"), ["args.num_layers="])
        whole = self.check(run("complete", "--", "train", "llama2_7b", "--set=args.num_l")).stdout
        self.assertEqual(whole, "--set=args.num_layers=\n")

    def test_paths_of_a_file(self):
        mine = self.root / "mine.toml"
        mine.write_text('base = "llama2_7b"\nmodel.decoder.pattern.0.feed_forward.type = "PlainFeedForward"\n')
        path = "model.decoder.pattern.0.feed_forward.up"
        self.assertEqual(self.complete(f"tenon train {mine} --set {path}"), [f"{path}."])
        self.assertEqual(self.complete(f"tenon train {self.root}/none.toml --set mod"), [])

    def test_plugins_on_the_line_count(self):
        plugin = pathlib.Path(os.environ["TENON_TEST_PLUGINS"]) / "squared_relu.so"
        self.assertEqual(self.complete("tenon train austen_sq"), [])
        self.assertEqual(self.complete(f"tenon train --plugin {plugin} austen_sq"), ["austen_squared_relu"])
        self.assertEqual(self.complete(f"tenon train --plugin={plugin} x --modify UseS"), ["UseSquaredRelu"])
        path = "model.decoder.pattern.0.feed_forward.po"
        line = f"tenon train austen_squared_relu --plugin {plugin} --set {path}"
        self.assertEqual(self.complete(line), [f"{path}wer="])
        self.assertEqual(self.complete("tenon train --plugin /nowhere.so austen_t"), ["austen_tiny"])

    def test_zsh_reads_the_script(self):
        script = self.check(run("completion", "zsh")).stdout
        self.assertTrue(script.startswith("#compdef tenon\n"))
        if shutil.which("zsh"):
            subprocess.run(["zsh", "-n"], input=script, encoding="utf-8", check=True, timeout=60)
        self.check_error(run("completion", "fish"), 2, "invalid_argument", "bash or zsh")
