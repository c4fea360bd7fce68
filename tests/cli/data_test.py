"""From texts to prepared data, to a trained model, to its text, with the `tenon` command."""

import gzip
import json
import re
import signal

from support import FINAL, CommandTest, metrics, run, start

TINY = {
    "num_layers": 1,
    "model_dim": 32,
    "num_heads": 2,
    "num_kv_heads": 2,
    "hidden_dim": 48,
    "vocab_size": 300,
    "batch_size": 4,
    "sequence_length": 32,
    "train_tokens": 2560,  # 20 steps
    "warmup_steps": 2,
    "loss_chunks": 1,
}


def tiny(*settings):
    """Options that make a Llama tiny, and these settings."""
    every = [*(f"args.{name}={value}" for name, value in TINY.items()), *settings]
    return [word for setting in every for word in ("--set", setting)]


class Prepared(CommandTest):
    """A folder of texts, a tokenizer trained on it, and the folder prepared with it."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.texts = cls.root / "texts"
        cls.texts.mkdir()
        words = cls.text.read_text().split()
        lines = [json.dumps({"text": " ".join(words[i : i + 20])}) for i in range(0, len(words), 20)]
        (cls.texts / "a.txt").write_text(" ".join(words[:500]))
        (cls.texts / "b.jsonl").write_text("\n".join(lines[:100]))
        with gzip.open(cls.texts / "c.jsonl.gz", "wt") as file:
            file.write("\n".join(lines[100:]) + "\n")
        cls.model, cls.tokens = cls.root / "pieces.model", cls.root / "tokens"
        cls.tokenized = run("data", "tokenizer", cls.texts, "--out", cls.model, "--vocab_size", 300, "--model", "bpe")
        cls.prepared = run("data", "prepare", cls.texts, "--tokenizer", cls.model, "--out", cls.tokens)


class Data(Prepared):
    def test_reports(self):
        self.assertIn("300 pieces (bpe)", self.check(self.tokenized).stdout)
        out = self.check(self.prepared).stdout
        self.assertRegex(out, r"tokens: 201 documents of 3 files, \d+ tokens, \d\.\d\d bytes a token, 1 shards")
        shown = self.check(run("data", "show", self.tokens, "--verify", "--documents", 1)).stdout
        self.assertIn("201 documents", shown)
        self.assertIn("all as they were written", shown)
        self.assertIn("vocabulary of 300, bos 1, eos 2, pad 3", shown)
        self.assertRegex(shown, r"document 0 \(\d+ tokens\): " + re.escape(self.text.read_text()[:40]))

    def test_trains_and_writes(self):
        command = ["train", "llama2_test", "--data", self.tokens, *tiny("save_every_n_steps=10", "log_every_n_steps=1")]
        once, twice = self.root / "once", self.root / "twice"
        done = self.check(run(*command, "--dir", once))
        self.assertRegex(done.stdout.splitlines()[-1], FINAL)
        bits = metrics(once, "eval/bits_per_byte")[20]
        # Of an untrained model: log2(300) bits a token, and about two bytes in one.
        self.assertLess(bits, 8.3)
        self.assertGreater(metrics(once, "eval/loss")[20] / 0.693, 1.2 * bits)
        # Half, and then the other half.
        half = self.check(run(*command, "--dir", twice, "--set", "max_steps=10"))
        self.assertIn("step=10", half.stdout.splitlines()[-1])
        self.check(run(*command, "--dir", twice))
        self.assertEqual(metrics(twice), metrics(once))
        self.assertTrue((once / "step_00000020" / "tokenizer.model").exists())
        wrote = self.check(run("generate", once, "--prompt", "it is", "--max_tokens", 5))
        self.assertTrue(wrote.stdout.startswith("it is"))
        self.assertIn("5 tokens", wrote.stderr)
        for option, value, word in (("--stop_token", 300, "stop_tokens"), ("--max_tokens", 100000, "max_tokens")):
            refused = run("generate", once, "--prompt", "it is", option, value)
            self.check_error(refused, 2, word)
            self.assertEqual(refused.stdout, "")

    def test_a_folder_of_text_is_enough(self):
        command = ["train", "austen_tiny", "--data", self.texts, "--dir", self.root / "bytes"]
        done = self.check(run(*command, "--set", "args.max_steps=2"))
        self.assertIn(f"{self.texts}: 201 documents", done.stdout)  # as prepared
        (self.root / "latin").mkdir()
        (self.root / "latin" / "a.txt").write_bytes(b"caf\xe9")
        done = run("train", "austen_tiny", "--data", "latin", "--dir", self.root / "no", cwd=self.root)
        self.check_error(done, 5, "damaged at data: ./latin/a.txt: the text isn't UTF-8 at byte 3")
        done = run("train", "austen_tiny", "--data", "nothing", "--dir", self.root / "no", cwd=self.root)
        self.check_error(done, 5, "not_found at data: ./nothing: no such file or folder")

    def test_prepare_is_killed(self):
        texts, out = self.root / "long.jsonl", self.root / "killed"
        texts.write_text((json.dumps({"text": self.text.read_text()}) + "\n") * 3000)
        command = ["data", "prepare", texts, "--out", out, "--jobs", 1]
        with start(*command) as child:
            while child.poll() is None and not list(self.root.glob("killed.preparing/*.tokens")):
                pass
            child.send_signal(signal.SIGSTOP)
            self.check_error(run(*command), 6, f"process {child.pid} on ", "is using this directory")
            child.kill()
            child.stderr.read()
        self.assertEqual(len(list(self.root.glob("killed.*"))), 2)
        self.check(run(*command))
        self.assertEqual(list(self.root.glob("killed*")), [out])

    def test_experiments_of_text_take_no_tokens(self):
        done = run("train", "austen_tiny", "--data", self.tokens, "--dir", self.root / "no")
        self.check_error(done, 2, "at --data: this experiment takes text only", f"prepared tokens in {self.tokens}", "llama2_test")
        done = run("train", "digits", "--data", self.tokens, "--dir", self.root / "no")
        self.check_error(done, 2, "at --data: this experiment takes no prepared data")

    def test_mistakes(self):
        bad = self.root / "bad.txt"
        bad.write_bytes(b"caf\xe9")
        prepare = ["data", "prepare", bad, "--out", self.root / "bad"]
        self.check_error(run(*prepare), 5, "bad.txt: the text isn't UTF-8 at byte 3", "--bad_text")
        replaced = self.check(run(*prepare, "--bad_text", "replace"))
        self.assertIn("warning: 1 documents weren't text (bad bytes replaced)", replaced.stderr)
        self.check_error(run(*prepare), 2, "something already")
        skipped = run("data", "prepare", bad, "--out", self.root / "skipped", "--bad_text", "skip")
        self.check_error(skipped, 2, "got 1 files, 0 of them empty", "1 skipped that weren't UTF-8 text")
        self.check_error(run(*prepare, "--bad_text", "skp"), 2, "--bad_text", "did you mean skip?")
        self.check_error(run(*prepare, "--tokenizer", "byte"), 5, "no such tokenizer")
        done = run("data", "tokenizer", bad, "--out", self.model)
        self.check_error(done, 2, "pieces.model: the file is there already")
        done = run("data", "tokenizer", self.texts, "--out", "")
        self.check_error(done, 2, "at --out: the model needs a file to go to")
        done = run("data", "tokenizer", self.text, "--out", self.root / "large.model", "--vocab_size", 100000)
        self.check_error(done, 2, "the tokenizer can't be trained (got Vocabulary size too high")
        self.check_error(run("data", "show", self.root), 5, "there is no prepared data")
        (self.root / "empty.txt").write_text("")
        done = run("data", "prepare", self.root / "empty.txt", "--out", self.root / "none")
        self.check_error(done, 2, "no document has any text")
        small = ["train", "llama2_test", "--dir", self.root / "small", *tiny("args.vocab_size=299")]
        done = run(*small, "--data", self.tokens)
        self.check_error(done, 2, "model.vocab_size", "got 299, expected at least 300")
