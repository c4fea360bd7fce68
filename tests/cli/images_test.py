"""From images in a file to a classifier, with the `tenon` command."""

import gzip
import random

from support import CommandTest, metrics, run

FINAL = r"^final: step=(\d+) train_loss=\S+ eval_loss=\S+ accuracy=(\S+) examples_per_s=\S+$"


class Images(CommandTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        chance = random.Random(1)
        cls.images = cls.root / "images.csv.gz"
        with gzip.open(cls.images, "wt") as file:
            for i in range(120):
                # Stripes, narrow or wide, down or across: what a shift doesn't change.
                width, down = (1, 2)[i % 2], i % 4 < 2
                bright = lambda p: (p % 8 if down else p // 8) // width % 2
                print(*(chance.randrange(3) + 12 * bright(p) for p in range(64)), i % 4, sep=",", file=file)
        cls.train = ["train", "digits", "--data", cls.images, "--set", "args.feature_dim=16", "--set",
                     "args.max_steps=40", "--set", "args.batch_size=32"]  # fmt: skip

    def test_trains_and_resumes(self):
        once, twice = self.root / "once", self.root / "twice"
        done = self.check(run(*self.train, "--dir", once))
        self.assertRegex(done.stdout.splitlines()[-1], FINAL)
        self.assertIn("120 images of 8 x 8 x 1, 96 for training, 24 held out", done.stdout)
        self.assertEqual(metrics(once, "eval/num_examples"), {40: 24})
        self.assertGreater(metrics(once, "eval/loss.accuracy")[40], 0.9)
        self.check(run(*self.train, "--dir", twice, "--set", "max_steps=20"))
        self.check(run(*self.train, "--dir", twice))
        self.assertEqual(metrics(twice), metrics(once))
        self.assertIn("accuracy", self.check(run("runs", self.root)).stdout)
        self.check_error(run("generate", once, "--prompt", "a"), 2, "can't write text")

    def test_names_file_and_line_of_what_is_wrong(self):
        bad = self.root / "bad.csv"
        bad.write_text("0," * 64 + "1\n" + "0," * 63 + "1\n")
        command = ["train", "digits", "--data", bad, "--dir", self.root / "bad"]
        self.check_error(run(*command), 5, f"{bad}:2 (byte 130)", "',' behind pixel 64 of 64")
        bad.write_text("0," * 64 + "10\n")
        self.check_error(run(*command), 2, str(bad), "10 in line 1", "0 to 9")
