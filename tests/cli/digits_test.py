"""The experiment `digits` on the images that scripts/setup --target digits fetches."""

import pathlib
import re
import sys
import unittest

from support import CommandTest, run

IMAGES = pathlib.Path(__file__).resolve().parents[2] / "data" / "digits" / "digits.csv.gz"


class Digits(CommandTest):
    @unittest.skipUnless(IMAGES.exists(), "run scripts/setup --target digits")
    def test_accuracy_on_images_held_out(self):
        done = self.check(run("train", "digits", "--data", IMAGES, "--dir", self.root / "digits"))
        print(done.stdout.splitlines()[-1], file=sys.stderr)
        accuracy = float(re.search(r"^final: .* accuracy=(\S+) ", done.stdout, re.MULTILINE)[1])
        self.assertGreaterEqual(accuracy, 0.97)
