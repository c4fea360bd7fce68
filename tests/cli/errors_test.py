"""Wrong input to the `tenon` command, and the parts of it that need no backend."""

import os
import pathlib
import subprocess
import time

from support import COMMAND, CommandTest, mounted, run


class CommandLine(CommandTest):
    def test_what_cannot_be_parsed(self):
        self.check_error(run(), 2, "invalid_argument", "subcommand", "tenon --help")
        self.check_error(run("trian"), 2, "unknown_name", '"trian"', "did you mean train?")
        self.check_error(run("train"), 2, "experiment", "tenon train --help")
        self.check_error(run("train", "austen", "--sets", "a=1"), 2, "--sets")
        self.check_error(run("train", "austen", "more"), 2, "more")
        self.check_error(run("config", "show", "austen", "--set", "seed=1", "seed=2"), 2, "seed=2")
        self.check_error(run("config", "show", "austen", "--set", "seed=1", "--modify", "SetMesh", "SetMesh"), 2)
        found = self.check(run("config", "find", "model.vocab_size", "--set", "seed=1", "--set", "seed=2", "austen"))
        self.assertEqual(found.stdout, "model.vocab_size = 259\n")
        self.check_error(run("generate", "x", "--max_tokens", "many"), 2, "--max_tokens")
        self.check_error(run("config"), 2, "tenon config --help")
        self.check_error(run("train", "austen_tiny", "--resume", "often"), 2, "--resume", "auto, never or must")

    def test_closed_standard_streams(self):
        for command, status in (("config show austin", 2), ("config show austen", 0)):
            for closed in ("2>&-", "1>&- 2>&-", "0>&- 1>&- 2>&-"):
                done = subprocess.run(["sh", "-c", f'"$0" {command} {closed}', COMMAND], stdout=subprocess.DEVNULL)
                self.assertEqual(done.returncode, status, (command, closed))

    def test_help(self):
        config = [["config", command] for command in ("list", "args", "show")]
        debug = [["debug"], ["debug", "dump"], ["debug", "inspect"]]
        for command in ([], ["train"], ["generate"], ["aot"], ["config"], *config, *debug):
            done = self.check(run(*command, "--help"))
            self.assertIn("Exit status: 0 done; 2 wrong input", done.stdout)
            self.assertEqual(done.stderr, "")
        for option in ("--set", "--config", "--dir", "--platform", "--resume", "--trap", "--profile", "--plugin"):
            self.assertIn(option, run("train", "--help").stdout)
        for option in ("--prompt", "--max_tokens", "--temperature", "--top_k", "--top_p", "--stop", "--num_beams", "--plugin"):
            self.assertIn(option, run("generate", "--help").stdout)
        self.assertRegex(self.check(run("--version")).stdout, r"^tenon-\d+\.\d+\.\d+\n$")

    def test_help_and_configs_need_no_backend(self):
        for command in (["--help"], ["config", "list"], ["config", "show", "austen"]):
            times = []
            for _ in range(10):
                began = time.monotonic()
                self.check(run(*command, env={"TENON_PLUGIN_PATH": "/nowhere"}))
                times.append(time.monotonic() - began)
            self.assertLess(min(times), float(os.environ["TENON_STARTUP_S"]))


class Configs(CommandTest):
    def show(self, *options, status=0):
        done = run("config", "show", "austen_tiny", *options)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def test_list(self):
        lines = self.check(run("config", "list")).stdout.splitlines()
        names = [line.split()[0] for line in lines]
        self.assertEqual(names, sorted(names))
        self.assertLessEqual({"austen", "austen_tiny", "llama3_8b"}, set(names))

    def test_show_loads_back(self):
        whole = self.root / "whole.toml"
        whole.write_text(self.show().stdout)
        self.assertEqual(self.show("--config", whole).stdout, whole.read_text())

    def test_order_is_experiment_then_files_then_set(self):
        first, second = self.root / "first.toml", self.root / "second.toml"
        first.write_text("max_steps = 1\nseed = 1\naccumulation = 2\n")
        second.write_text("seed = 2\naccumulation = 4\n")
        got = self.show("--set", "accumulation=8", "--config", first, "--config", second).stdout
        for line in ("max_steps = 1\n", "seed = 2\n", "accumulation = 8\n"):
            self.assertIn("\n" + line, "\n" + got)

    def test_arguments_come_first(self):
        overlay = self.root / "args.toml"
        overlay.write_text("seed = 3\n[args]\nmax_steps = 40\nnum_layers = 5\n")
        options = ["--set", "max_steps=30", "--set", "args.num_layers=1", "--config", overlay]
        got = "\n" + self.show(*options).stdout
        rate = "learner.learning_rate.total_steps = 40"
        for line in ("max_steps = 30", rate, "model.decoder.num_layers = 1", "seed = 3"):
            self.assertIn(f"\n{line}\n", got)
        self.assertNotIn("args", got)
        args = self.check(run("config", "args", "austen_tiny", *options)).stdout
        self.assertRegex(args, r"(?m)^args\.max_steps = 40 +# steps in all")
        self.assertRegex(args, r"(?m)^args\.num_layers = 1 +# decoder layers$")
        overlay.write_text(args)
        self.assertEqual(self.check(run("config", "args", "austen", "--config", overlay)).stdout, args)

    def test_wrong_settings(self):
        ffn = "model.decoder.pattern.0.feed_forward"
        for setting, parts in {
            "model.decoder.num_layer=3": ("unknown_name at model.decoder", "num_layers"),
            "max_steps=soon": ("wrong_type", "max_steps"),
            "max_steps=-1": ("invalid_argument", "max_steps"),
            "max_steps": ("max_steps",),
            "args.max_step=3": ("unknown_name at args", "max_steps"),
            "args.max_steps=soon": ("wrong_type", "args.max_steps"),
            "args.max_steps=0": ("invalid_argument", "args.max_steps"),
            f"{ffn}.type=GatedFeedForwards": ("unknown_name", ffn, "GatedFeedForward"),
            f"{ffn}.type=Linear": ("wrong_type", ffn, "FeedForward"),
            "model.decoder.pattern.7.type=DecoderLayer": ("model.decoder.pattern",),
        }.items():
            with self.subTest(setting):
                self.check_error(self.show("--set", setting, status=2), 2, *parts)

    def test_wrong_files(self):
        broken, unknown = self.root / "broken.toml", self.root / "unknown.toml"
        broken.write_text("max_steps = 3\nseed = = 4\n")
        unknown.write_text("max_steps = 3\n\nmodel.vocabs_size = 4\n")
        self.check_error(self.show("--config", broken, status=2), 2, "broken.toml:2")
        self.check_error(self.show("--config", unknown, status=2), 2, "unknown.toml:3", "vocab_size")
        self.check_error(self.show("--config", "/nowhere.toml", status=5), 5, "not_found", "/nowhere.toml")

    def test_unknown_experiment(self):
        for command in (["config", "args"], ["config", "show"], ["train"]):
            self.check_error(run(*command, "austin"), 2, "unknown_name", "'austin'", "austen")


class Runs(CommandTest):
    def test_platforms(self):
        directory = self.root / "run"
        self.check_error(self.train(directory, options=["--platform", "cpx"]), 2, "unknown_name", "cpx", "cpu")
        self.check_error(self.train(directory, options=["--platform", "cpu:0"]), 2, "invalid_argument", "cpu:0")
        missing = self.train(directory, env={"TENON_PLUGIN_PATH": "/nowhere"})
        self.check_error(missing, 4, "plugin at /nowhere", "TENON_PLUGIN_PATH")
        self.check_error(self.train(directory, env={"TENON_PLUGIN_PATH": str(self.text)}), 4, "plugin", "text.txt")

    def test_old_plugins(self):
        old = pathlib.Path(os.environ["TENON_TEST_PLUGINS"]) / "old_pjrt.so"
        done = self.train(self.root / "run", env={"TENON_PLUGIN_PATH": str(old)})
        self.check_error(done, 4, "plugin at", "old_pjrt.so", "version 0.3", "scripts/setup")

    def test_missing_fields(self):
        layers = [f"model.decoder.pattern.{i}.type=DecoderLayer" for i in (1, 2)]
        heads = [f"model.decoder.pattern.{i}.attention.num_heads" for i in (1, 2)]
        done = self.train(self.root / "run", "model.decoder.num_layers=3", *layers)
        self.check_error(done, 2, "missing_field", *heads)
        self.assertFalse((self.root / "run").exists())

    def test_machines_to_compile_for(self):
        def aot(*options, **kwargs):
            return run("aot", "austen_tiny", *options, **kwargs)

        self.check_error(aot(), 2, "--target", "tenon aot --help")
        self.check_error(run("aot", "austin", "--target", "h100:4"), 2, "unknown_name", "austen")
        for target, parts in {
            "v5q:2x2x1": ("unknown_name", '"v5q"', "a100, b200, h100, h200, mi300x, tpu7x, trn2, v4, v5e, v5p, v6e", "did you mean v5e or v5p?"),
            "h100": ("invalid_argument", '"h100"', "h100:4"),
            "v5p:4": ("invalid_argument", "v5p:2x2x1"),
        }.items():
            with self.subTest(target):
                self.check_error(aot("--target", target), 2, *parts)
        elsewhere = aot("--target", "h100:4", env={"TENON_PLUGIN_PATH": "/nowhere"})
        self.check_error(elsewhere, 4, "plugin at /nowhere")
        if not (pathlib.Path(__file__).parents[2] / ".deps/plugins/tpu").exists():
            self.check_error(aot("--target", "v5p:2x2x1"), 4, "plugin", "scripts/setup --target tpu")

    def test_meshes(self):
        four = ["--platform", "cpu:4"]
        for setting, part in {"mesh.fsdp=3": "3", "data.batch_size=6": "data.batch_size"}.items():
            with self.subTest(setting):
                done = self.train(self.root / "m", setting, options=four)
                self.check_error(done, 2, "mesh_mismatch", part)
        self.check_error(self.train(self.root / "m", "mesh.fsdp=-1", options=four), 2, "mesh", "-1")

    def test_shapes(self):
        attention = "model.decoder.pattern.0.attention"
        done = self.train(self.root / "s", f"{attention}.num_heads=3")
        self.check_error(done, 2, "num_heads", "model.decoder")

    def test_rules_without_parameters(self):
        done = self.train(self.root / "r", "learner.optimizer.rules.0.path=nothing")
        self.check_error(done, 2, "learner.optimizer.rules.0.path", "nothing")

    def test_data(self):
        directory, folder = self.root / "d", self.root / "folder"
        folder.mkdir()
        wrong = {"empty.txt": b"", "zero.txt": b"text\0text" * 1000, "short.txt": b"It is.", "latin.txt": b"caf\xe9" * 1000}
        for name, content in wrong.items():
            (self.root / name).write_bytes(content)
        data = "data.path={}".format
        self.check_error(self.train(directory, data("/nowhere")), 5, "not_found", "data", "/nowhere")
        self.check_error(self.train(directory, data(folder)), 5, "not_found", str(folder))
        self.check_error(self.train(directory, data(self.root / "empty.txt")), 2, "empty.txt: no document has any text")
        self.check_error(self.train(directory, data(self.root / "zero.txt")), 5, "damaged", "zero byte at byte 4")
        latin = ["train", "austen_tiny", "--data", self.root / "latin.txt", "--dir", directory]
        self.check_error(run(*latin), 5, "latin.txt: the text isn't UTF-8 at byte 3", "--bad_text replace")
        self.check_error(self.train(directory, data(self.root / "short.txt")), 2, "too short", "sequence_length")

    def test_directories(self):
        self.check_error(self.train("/dev/null/run"), 6, "io", "/dev/null")
        self.check_error(self.train(self.text), 6, "io", str(self.text))
        self.check_error(self.train(self.root / "none", options=["--resume", "must"]), 5, "not_found", "none")
        self.assertFalse((self.root / "none").exists())

    def test_directories_that_cannot_be_written(self):
        with mounted(self.root / "read_only", "-t", "tmpfs", "-o", "ro", "none") as read_only:
            self.check_error(self.train(read_only / "run"), 6, "io at", f"{read_only}/run", "Read-only")
            self.check_error(self.train(read_only), 6, "io at", str(read_only), "Read-only")

    def test_generate(self):
        self.check_error(run("generate", "/nowhere"), 5, "not_found", "/nowhere")
        self.check_error(run("generate", self.root), 5, "not_found", str(self.root))
        self.check_error(run("generate", self.root, "--temperature", "-1"), 2, "temperature")
        self.check_error(run("generate", self.root, "--top_k", "-1"), 2, "top_k")
        self.check_error(run("generate", self.root, "--top_p", "0"), 2, "top_p")
        self.check_error(run("generate", self.root, "--stop", ""), 2, "stop")
        self.check_error(run("generate", self.root, "--num_beams", "2", "--top_k", "5"), 2, "unsupported at top_k")
        self.check_error(run("generate", self.root, "--num_beams", "2", "--num_samples", "2"), 2, "--num_samples")
        self.check_error(run("generate", self.root, "--num_samples", "0"), 2, "--num_samples")
        self.check_error(run("generate", self.root, "--parameters", "mean"), 2, "trained or means")
        no_utf8 = b"\xff".decode(errors="surrogateescape")
        self.check_error(run("generate", self.root, "--prompt", no_utf8), 2, "--prompt", "UTF-8")
