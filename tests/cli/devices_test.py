"""One device and four: the same training, the same checkpoints."""

from support import CommandTest, metrics, tensors

FOUR = ["--platform", "cpu:4", "--set", "mesh.fsdp=2", "--set", "mesh.model=2"]


class Devices(CommandTest):
    def check_near(self, got, want):
        self.assertEqual(list(got), list(want))
        for step, loss in want.items():
            self.assertLess(abs(got[step] - loss), 1e-5 * loss, f"step {step}")

    def test_the_same_losses(self):
        one, four = self.root / "one", self.root / "four"
        self.check(self.train(one))
        out = self.check(self.train(four, options=FOUR)).stdout
        self.assertIn("4 x cpu", out)
        self.assertIn("mesh fsdp=2,model=2", out)
        self.assertEqual(len(metrics(one)), 20)
        self.check_near(metrics(four), metrics(one))

    def test_the_same_initial_weights(self):
        still = ("learner.learning_rate=0.0", "max_steps=1")  # what is saved is what it began with
        self.check(self.train(self.root / "still_one", *still))
        self.check(self.train(self.root / "still_four", *still, options=FOUR))
        one, four = (tensors(self.root / run / "step_00000001") for run in ("still_one", "still_four"))
        one, four = ({name: t for name, t in run.items() if not name.startswith("learner.")} for run in (one, four))
        self.assertEqual(len(one), 1 + 2 * 9 + 1)
        self.assertEqual(one["embedding.weight"][:2], ("F32", [259, 32]))
        self.assertEqual(four, one)

    def test_checkpoints_go_from_four_to_one_and_back(self):
        mixed, plain = self.root / "mixed", self.root / "plain"
        self.check(self.train(mixed, "max_steps=6", options=FOUR))
        self.assertIn("(step 6)", self.check(self.train(mixed, "max_steps=13")).stdout)
        self.assertIn("(step 13)", self.check(self.train(mixed, "max_steps=20", options=FOUR)).stdout)
        self.check(self.train(plain))
        self.check_near(metrics(mixed), metrics(plain))
