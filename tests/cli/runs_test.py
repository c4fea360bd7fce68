"""Training, stopping, resuming and writing with the `tenon` command."""

import os
import pathlib
import re
import resource
import shutil
import signal
import time

from support import FINAL, CommandTest, metrics, mounted, run, start, tensors


def step_dir(directory, step):
    return pathlib.Path(directory) / f"step_{step:08d}"


def flip_a_byte(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def fill(disk, leave):
    """Leaves so many bytes of a mounted disk free."""
    with (disk / "ballast").open("ab") as file:
        stats = os.statvfs(disk)
        if (size := stats.f_bavail * stats.f_frsize - leave) > 0:
            os.posix_fallocate(file.fileno(), file.tell(), size)


class Trained(CommandTest):
    """Tests that begin with a run of 20 steps; those that change it change a copy."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.base = cls.root / "base"
        cls.trained = cls.train(cls(), cls.base)

    def copy(self, name):
        return pathlib.Path(shutil.copytree(self.base, self.root / name))


class Training(Trained):
    def test_prints_and_leaves_everything(self):
        out = self.check(self.trained).stdout
        self.assertIn("model.vocab_size = 259\n", out)
        self.assertRegex(out, r"embedding\.weight +\[259,32\]")
        self.assertRegex(out, r"train step: (compiled|loaded from the compile cache) in .*memory on each device")
        self.assertRegex(out, r"\nstep 20/20  loss [\d.]+  grad_norm [\d.]+  lr \S+  \S+ tokens/s  data wait [\d.]+%  RSS .+  ETA")
        self.assertRegex(out.splitlines()[-1], FINAL)
        self.assertLess(out.index("memory on each device"), out.index("step 1/20"))
        losses = metrics(self.base)
        self.assertEqual(list(losses), list(range(1, 21)))
        self.assertLess(losses[20], losses[1] - 1)
        self.assertEqual(sorted(p.name for p in self.base.glob("step_*")), [f"step_{s:08d}" for s in (5, 10, 15, 20)])
        whole = run("config", "show", "austen_tiny", "--config", self.base / "config.toml").stdout
        self.assertEqual(whole, (self.base / "config.toml").read_text())

    def test_goes_on_where_it_stopped(self):
        broken = self.copy("broken")
        for step in (15, 20):
            shutil.rmtree(step_dir(broken, step))
        done = self.check(self.train(broken))
        self.assertIn("(step 10)", done.stdout)
        self.assertEqual(metrics(broken), metrics(self.base))
        self.assertEqual(tensors(step_dir(broken, 20)), tensors(step_dir(self.base, 20)))

    def test_resume_never_refuses_what_is_there(self):
        self.check_error(self.train(self.base, options=["--resume", "never"]), 2, "step_00000020")

    def test_damaged_checkpoints_are_passed_over(self):
        damaged = self.copy("damaged")
        flip_a_byte(step_dir(damaged, 20) / "shard_00000.safetensors")
        wrote = self.check(run("generate", damaged, "--max_tokens", 4))
        self.assertRegex(wrote.stderr, r"warning: .*step_00000020")
        self.assertIn("from step 15", wrote.stderr)
        done = self.check(self.train(damaged))
        self.assertRegex(done.stdout, r"warning: .*step_00000020")
        self.assertIn("(step 15)", done.stdout)
        self.assertEqual(metrics(damaged), metrics(self.base))

    def test_nothing_but_damage(self):
        damaged = self.copy("all_damaged")
        for step in (5, 10, 15, 20):
            flip_a_byte(step_dir(damaged, step) / "MANIFEST.json")
        self.check_error(run("generate", damaged), 5, "damaged")
        self.check_error(self.train(damaged), 5, "damaged")
        self.assertTrue(step_dir(damaged, 20).exists())

    def test_another_architecture(self):
        done = self.train(self.base, "model.model_dim=64")
        differs = "decoder.layers.0.attention.output.weight (f32[32,32], expected f32[64,64])"
        self.check_error(done, 5, "incompatible", differs)

    def test_a_full_disk_loses_nothing(self):
        size = sum(path.stat().st_size for path in step_dir(self.base, 20).iterdir())
        with mounted(self.root / "disk", "-t", "tmpfs", "-o", "size=64m", "none") as disk:
            full = pathlib.Path(shutil.copytree(self.base, disk / "run"))
            fill(disk, leave=size // 2)
            self.check_error(self.train(full, "max_steps=30"), 6, "no_space at", "step_00000025", "free some space")
            self.assertEqual(sorted(p.name for p in full.glob("step_*"))[-1], "step_00000020")
            # The run ends long before the next save, or its own end, would tell.
            late = ("max_steps=1000000", "save_every_n_steps=60")
            self.check_error(self.train(full, *late), 6, "no_space at", "step_00000060", "free some space")
            self.assertLess(max(metrics(full)), 120)
            fill(disk, leave=0)
            self.check_error(self.train(full, "max_steps=30"), 6, "no_space at", str(full))
            (disk / "ballast").unlink()
            self.assertIn("(step 20)", self.check(self.train(full, "max_steps=30")).stdout)
            self.assertEqual(list(metrics(full)), list(range(1, 31)))
            self.assertEqual({s: v for s, v in metrics(full).items() if s <= 20}, metrics(self.base))

    def test_a_write_that_fails_loses_nothing(self):
        full = self.copy("full")
        limit = step_dir(full, 20).joinpath("shard_00000.safetensors").stat().st_size // 2

        def small_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        self.check_error(self.train(full, "max_steps=30", preexec_fn=small_files), 6, "step_00000025")
        self.assertEqual(sorted(p.name for p in full.glob("step_*"))[-1], "step_00000020")
        self.check(self.train(full, "max_steps=25"))

    def test_too_large_for_the_machine(self):
        large = self.train(self.root / "large", "data.batch_size=4000000")
        self.check_error(large, 3, "out_of_memory", "a step takes more memory", "iB", "at most", "smaller batches")
        self.assertEqual(list((self.root / "large").glob("step_*")), [])
        data = f'{{type = "TextDataset", path = "{self.text}", batch_size = 4000000, sequence_length = 32}}'
        large = self.train(self.root / "large", 'evaluators.wide.type=LossEvaluator', f"evaluators.wide.data={data}")
        self.check_error(large, 3, "out_of_memory at evaluators.wide", "an evaluation takes more memory", "iB")
        # Sizes at which the compiler would end the process aren't given to it.
        large = self.train(self.root / "large", "data.batch_size=100000000")
        self.check_error(large, 3, "out_of_memory at embedding/dot_general", "3.0 TiB", "at most 128.0 GiB", "smaller batch")

    def test_an_encoder_decoder_fills_gaps(self):
        sizes = ("num_layers=1", "model_dim=16", "hidden_dim=16", "batch_size=4", "sequence_length=32", "max_steps=3")
        sets = [word for size in sizes for word in ("--set", "args." + size)]
        spans = self.root / "spans"
        done = self.check(run("train", "austen_spans", "--data", self.text, "--dir", spans, *sets))
        self.assertIn("15 % of it taken out, in gaps of 20 tokens\n", done.stdout)
        self.assertRegex(done.stdout, r"encoder\.layers.*\n(.*\n)*.*decoder\.layers.*cross_attention")

        def write(*options):
            return self.check(run("generate", spans, "--max_tokens", 8, *options)).stdout

        greedy = ("--temperature", 0)
        text = write(*greedy, "--prompt", "it is <extra_id_0>")
        self.assertNotIn("it is", text)
        both = write(*greedy, "--prompt", "it is <extra_id_0>", "--prompt", "a truth").split("=== prompt ")
        self.assertEqual(both[1].split("tokens\n")[1], text)
        write("--prompt", "it is", "--seed", 3, "--num_samples", 2)
        write("--prompt", "it is", "--num_beams", 2)
        self.check_error(run("generate", spans), 2, "at prompt", "there is none")
        wrong = run("generate", spans, "--prompt", "it is <extra_id_1>")
        self.check_error(wrong, 2, "at prompt", "no such sentinel", "<extra_id_0>")

    def test_nothing_to_train_is_said(self):
        past = self.check(self.train(self.copy("past"), "max_steps=10"))
        self.assertIn("nothing to train: it is past max_steps = 10", past.stdout)

    def test_not_finite(self):
        done = self.train(self.root / "nan", "learner.learning_rate=1e30", "max_steps=100")
        self.check_error(done, 7, "non_finite", "learning rate")


class Stopping(CommandTest):
    STEPS = ("max_steps=300", "eval_every_n_steps=0")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.unbroken = cls.root / "unbroken"
        cls.done = cls.train(cls(), cls.unbroken, *cls.STEPS)

    def stop(self, directory, after, number):
        """Starts a run, sends it a signal once it has logged `after` steps; its exit status and error, or none."""
        with start(*self.train_command(directory, *self.STEPS)) as child:
            while child.poll() is None and len(metrics(directory)) < after:
                time.sleep(0.002)
            child.send_signal(number)
            error = child.stderr.read()
            return child.wait(timeout=120), error

    def test_killed_runs_go_on_to_the_same_end(self):
        self.check(self.done)
        directory, kills = self.root / "killed", 0
        for after in (3, 37, 80, 81, 140):
            status, _ = self.stop(directory, after, signal.SIGKILL)
            kills += status == -signal.SIGKILL
        self.assertGreaterEqual(kills, 3)
        self.check(self.train(directory, *self.STEPS))
        self.assertEqual(metrics(directory), metrics(self.unbroken))
        self.assertEqual(tensors(step_dir(directory, 300)), tensors(step_dir(self.unbroken, 300)))

    def test_signals_save_and_leave(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
            with self.subTest(number.name):
                directory = self.root / number.name
                status, error = self.stop(directory, 20, number)
                self.assertEqual(status, 130, error)
                self.assertRegex(error, rf"^error: interrupted at .*{number.name}")
                saved = int(re.search(r"after step (\d+)", error)[1])
                self.assertTrue(step_dir(directory, saved).exists())
        self.check(self.train(directory, *self.STEPS, options=["--resume", "must"]))
        self.assertEqual(metrics(directory), metrics(self.unbroken))


class Generating(Trained):
    PROMPT = "it is a tr\u00fcth "

    def generate(self, *options, directory=None):
        return self.check(run("generate", directory or self.base, "--prompt", self.PROMPT, *options)).stdout

    def test_goes_on_behind_the_prompt(self):
        text = self.generate("--max_tokens", 40)  # decoded as UTF-8 by run()
        self.assertTrue(text.startswith(self.PROMPT))
        self.assertTrue(text.endswith("\n"))
        self.assertGreater(len(text), len(self.PROMPT) + 10)

    def test_the_seed_decides(self):
        first = self.generate("--seed", 3)
        self.assertEqual(self.generate("--seed", 3), first)
        self.assertNotEqual(self.generate("--seed", 4), first)
        greedy = self.generate("--temperature", 0)
        self.assertEqual(self.generate("--temperature", 0, "--seed", 9), greedy)
        self.assertEqual(self.generate("--top_k", 1), greedy)
        self.assertEqual(self.generate("--min_p", 1, "--seed", 9), greedy)

    def test_several_texts(self):
        alone = [self.generate("--max_tokens", 20, "--seed", seed) for seed in (5, 6)]
        both = self.generate("--max_tokens", 20, "--seed", 5, "--num_samples", 2)
        parts = both.split("=== prompt 1, sample ")
        self.assertEqual(["".join(part.split("tokens\n")[1:]) for part in parts[1:]], alone)
        done = self.check(run("generate", self.base, "--prompt", "a", "--prompt", "it", "--max_tokens", 3))
        self.assertIn("=== prompt 2, sample 1: 3 tokens\nit", done.stdout)

    def test_beams_and_stops(self):
        text = self.generate("--num_beams", 3, "--max_tokens", 20)
        self.assertEqual(self.generate("--num_beams", 3, "--max_tokens", 20), text)
        greedy = self.generate("--temperature", 0, "--max_tokens", 20)
        stop = greedy[len(self.PROMPT) :][3:6]
        stopped = self.generate("--temperature", 0, "--max_tokens", 20, "--stop", stop)
        self.assertEqual(stopped, greedy[: greedy.index(stop, len(self.PROMPT))] + "\n")
        self.check_error(run("generate", self.base, "--parameters", "means"), 5, "not_found", "learner.ema")
        self.check_error(run("generate", self.base, "--stop_token", "999"), 2, "stop_tokens", "0 to 258")

    def test_fields_of_the_model_can_be_set(self):
        core = "model.decoder.pattern.0.attention.core"
        self.generate("--max_tokens", 3, "--set", f"{core}.type=DotProductAttention", "--set", f"{core}.logit_cap=30")
        for assignment, status, *words in (
            ("max_steps=3", 2, "at --set", "only what lies in the model"),
            ("model.decoder.num_layer=2", 2, "unknown_name at model.decoder", "did you mean num_layers?"),
            ("model.decoder.num_layers=1", 5, "incompatible", "decoder.layers.1"),
        ):
            self.check_error(run("generate", self.base, "--set", assignment), status, *words)

    def test_needs_the_directory_alone(self):
        want = self.generate()
        moved = self.copy("moved")
        (moved / "config.toml").unlink()
        self.text.rename(self.text.with_suffix(".away"))
        try:
            self.assertEqual(self.generate(directory=moved), want)
            self.assertEqual(self.generate(directory=step_dir(moved, 20)), want)
        finally:
            self.text.with_suffix(".away").rename(self.text)

    def test_lengths(self):
        self.assertEqual(self.generate("--max_tokens", 0), self.PROMPT + "\n")
        self.check(run("generate", self.base, "--prompt", "it is " * 200, "--max_tokens", 3))
        self.check_error(run("generate", self.base, "--max_tokens", 100000000), 2, "max_tokens")
        self.check_error(run("generate", self.base, "--max_tokens", -1), 2, "max_tokens")

    def test_output_that_cannot_be_written(self):
        done = run("generate", self.base, preexec_fn=lambda: os.dup2(os.open("/dev/full", os.O_WRONLY), 1))
        self.check_error(done, 6, "output")
