"""`tenon tune` with the CPU's plugin: killed, gone on, and trained with what it found."""

import json
import signal
import time

from support import CommandTest, run, start

SMALL = ["args.num_layers=1", "args.model_dim=16", "args.sequence_length=16", "learner.optimizer.type=Sgd"]
SPACE = ["--axes", "data,fsdp", "--remat", "as_is", "--microbatches", "1", "--kernels", "on"]


class Tune(CommandTest):
    def command(self, directory, *options, target="cpu:2", batch=8):
        sets = [word for setting in [*SMALL, f"data.path={self.text}"] for word in ("--set", setting)]
        where = ["--target", target, "--global_batch", batch, "--dir", directory]
        return ["tune", "austen_tiny", *sets, *SPACE, *where, *options]

    def results(self, directory):
        """The whole lines of the journal behind its subject and the machine's speeds."""
        journal = directory / "journal.jsonl"
        lines = journal.read_text().splitlines(keepends=True) if journal.exists() else []
        return [json.loads(line) for line in lines[2:] if line.endswith("\n")]

    def test_a_killed_search_goes_on_and_its_rule_trains(self):
        directory = self.root / "tuned"
        search = start(*map(str, self.command(directory)))
        while search.poll() is None and not self.results(directory):
            time.sleep(0.02)
        search.send_signal(signal.SIGKILL)
        search.communicate()
        before = self.results(directory)
        self.assertGreaterEqual(len(before), 1)

        done = self.check(run(*self.command(directory, "--json")))
        report = json.loads(done.stdout)
        self.assertEqual(self.results(directory)[: len(before)], before)
        self.assertIn("going on from a journal", done.stderr)
        ranked, dropped = ({row["candidate"] for row in report[part]} for part in ("ranked", "dropped"))
        self.assertTrue(ranked <= {"data=2", "fsdp=2"} <= ranked | dropped, "one may be slower at best than the other is")
        self.assertTrue(ranked)
        seconds = [row["estimate_s"] for row in report["ranked"]]
        self.assertEqual(seconds, sorted(seconds))
        self.assertIn("the experiment's own (no mesh rule)", dropped)

        rule = ["--config", report["rule_file"], "--instance", report["instance"]]
        shown = self.check(run("config", "show", "austen_tiny", *rule)).stdout
        size = dict(axis.split("=") for axis in report["ranked"][0]["candidate"].split(","))
        for axis in ("data", "fsdp"):
            self.assertIn(f"\nmesh.{axis} = {size.get(axis, 1)}\n", shown)
        trained = self.train(self.root / "run", *SMALL, "args.max_steps=2", options=["--platform", "cpu:2", *rule])
        self.assertIn("final: step=2", self.check(trained).stdout)
        self.check_error(run(*self.command(directory, batch=16)), 5, "incompatible", "another global batch", "--dir")

    def test_mistakes(self):
        def tune(*options, **kwargs):
            return run(*self.command(self.root / "none", *options, **kwargs))

        self.check_error(tune(target="v9:2x2"), 2, "unknown_name", "v5p")
        self.check_error(tune(target="trn2:1x16"), 2, "unsupported", "--target")
        where = ["--target", "cpu:2", "--global_batch", 8, "--dir", self.root / "none"]
        self.check_error(run("tune", "austen_tiny", *where, "--axes", "fsdq"), 2, "--axes", "did you mean fsdp")
        empty = ["--target", "cpu:2", "--global_batch", 8, "--dir", ""]
        self.check_error(run("tune", "austen_tiny", *empty), 2, "at --dir: the path is empty")
        for batch in (0, 2**31, 2**63 - 1):
            self.check_error(tune(batch=batch), 2, "at --global_batch", "expected 1 to 2147483647")
        self.check_error(tune("--also", "Nonsense"), 2, "unknown_name at --also.type", 'it is in --also "Nonsense"')
        self.check_error(tune("--also", "SetMesh{mesh = "), 2, "invalid_argument at --also")
        self.check_error(tune(*["--also", "SequenceParallel"] * 30), 2, "at --also", "got 30, expected at most 8")
        self.check_error(run(*self.command(self.text / "folder")), 6, "text.txt: can't create the directory")
        self.assertFalse((self.root / "none").exists())
        self.check_error(run("tune", "austen_tiny", "--target", "cpu:4"), 2, "--global_batch")
