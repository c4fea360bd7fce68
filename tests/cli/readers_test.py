"""What a run leaves behind, read by the libraries that own the formats (scripts/setup --target readers)."""

import math
import shutil
import sys
import time
import unittest

from support import CommandTest, metrics, tensors

try:
    import numpy as np
    from safetensors import safe_open
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
except ImportError as error:
    MISSING = error
else:
    MISSING = None

FOUR = ["--platform", "cpu:4", "--set", "mesh.fsdp=2", "--set", "mesh.model=2"]


def setUpModule():
    if MISSING:
        print(f"skipped: {MISSING}: run scripts/setup --target readers", file=sys.stderr)
        raise unittest.SkipTest(MISSING)


def read_checkpoint(directory):
    """{name: array} of all files of a checkpoint, and their metadata, as the safetensors library reads them."""
    arrays, metadata = {}, {}
    for path in sorted(directory.glob("*.safetensors")):
        with safe_open(path, framework="np") as file:
            metadata |= file.metadata() or {}
            arrays |= {name: file.get_tensor(name) for name in file.keys()}
    return arrays, metadata


class Checkpoints(CommandTest):
    def check_initial(self, arrays):
        """What the config says of a model that learned nothing."""
        layers = [f"decoder.layers.{layer}." for layer in (0, 1)]
        for name in ["decoder.norm.scale", *(f"{layer}attention_residual.norm.scale" for layer in layers)]:
            np.testing.assert_array_equal(arrays[name], np.ones(32, np.float32), name)
        embedding = arrays["embedding.weight"]
        self.assertEqual((embedding.shape, embedding.dtype), ((259, 32), np.float32))
        self.assertLess(abs(embedding.std() * math.sqrt(32) - 1), 0.03)  # of 8288 draws: three standard errors are 2.3 %
        self.assertLess(abs(embedding.mean()), 0.01)
        up = arrays[f"{layers[1]}feed_forward.up.weight"]
        self.assertEqual(up.shape, (32, 64))
        self.assertLess(abs(up.std() * math.sqrt(32) - 1), 0.06)

    def test_initial_weights(self):
        still = ("learner.learning_rate=0.0", "max_steps=1")
        read = {}
        for name, options in (("one", ()), ("four", FOUR)):
            directory = self.root / name
            self.check(self.train(directory, *still, options=options))
            read[name], _ = read_checkpoint(directory / "step_00000001")
            self.check_initial(read[name])
        self.assertEqual(list(read["one"]), list(read["four"]))

    def test_every_array_of_a_trained_model(self):
        directory = self.root / "trained"
        self.check(self.train(directory))
        arrays, _ = read_checkpoint(directory / "step_00000020")
        want = tensors(directory / "step_00000020")
        self.assertEqual(sorted(arrays), sorted(want))
        for name, (dtype, shape, data) in want.items():
            self.assertEqual((arrays[name].dtype, list(arrays[name].shape)), (np.dtype("f4"), shape), name)
            self.assertEqual((dtype, arrays[name].tobytes()), ("F32", data), name)
        first, _ = read_checkpoint(directory / "step_00000005")
        for name, array in arrays.items():
            self.assertTrue(np.isfinite(array).all(), name)
            if not name.startswith("learner.skipped"):
                self.assertTrue((array != first[name]).any(), name)
        self.assertEqual(arrays["learner.skipped"], 0)
        self.assertGreaterEqual(arrays["learner.v.embedding.weight"].min(), 0)


class Summaries(CommandTest):
    def read(self, directory):
        """{tag: {step: (value, wall time)}}; a step that comes twice is an error."""
        events = EventAccumulator(str(directory / "tensorboard"), size_guidance={"scalars": 0}).Reload()
        out = {}
        for tag in events.Tags()["scalars"]:
            scalars = events.Scalars(tag)
            out[tag] = {scalar.step: (scalar.value, scalar.wall_time) for scalar in scalars}
            self.assertEqual(len(out[tag]), len(scalars), tag)
        return out

    def check_same(self, got, directory):
        self.assertIn("train/loss", got)
        self.assertIn("eval/bits_per_byte", got)
        for tag, scalars in got.items():
            want = metrics(directory, tag)
            self.assertEqual(list(scalars), list(want), tag)
            for step, (value, _) in scalars.items():
                self.assertEqual(value, np.float32(want[step]), f"{tag} at {step}")

    def test_the_values_that_were_written(self):
        directory, began = self.root / "run", time.time()
        self.check(self.train(directory, "args.max_steps=24", "eval_every_n_steps=10"))
        got = self.read(directory)
        self.check_same(got, directory)
        self.assertEqual(list(got["train/loss"]), list(range(1, 25)))
        self.assertEqual(list(got["eval/loss"]), [10, 20, 24])
        rates = [0.01 * (0.02 + 0.98 * (1 + math.cos(math.pi * step / 23)) / 2) for step in range(24)]
        np.testing.assert_allclose([value for value, _ in got["train/learning_rate"].values()], rates, rtol=1e-6)
        times = [when for _, when in got["train/loss"].values()]
        self.assertEqual(times, sorted(times))
        self.assertTrue(began <= times[0] and times[-1] <= time.time())

    def test_a_resumed_run_reads_as_one(self):
        directory = self.root / "resumed"
        self.check(self.train(directory))
        shutil.rmtree(directory / "step_00000015")
        shutil.rmtree(directory / "step_00000020")
        self.check(self.train(directory))
        self.assertEqual(len(list((directory / "tensorboard").iterdir())), 2)
        got = self.read(directory)
        self.check_same(got, directory)
        self.assertEqual(list(got["train/loss"]), list(range(1, 21)))


if __name__ == "__main__":
    unittest.main()
