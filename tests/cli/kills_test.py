"""Kills of a run that saves every few steps: at random, while it saves, removes and restores."""

import os
import pathlib
import random
import signal
import time

from support import CommandTest, metrics, start, tensors

KILLS, SAVE_EVERY = int(os.environ["TENON_KILLS"]), 5
STEPS = (f"max_steps={240 + 24 * KILLS}", f"save_every_n_steps={SAVE_EVERY}", "eval_every_n_steps=0", "keep.last_n=2")


def saved(directory):
    return sorted(path.name for path in directory.glob("step_*"))


class Killed(CommandTest):
    def moment(self, kind, directory, child, chance):
        """Waits until it is time to kill."""

        def wait_until(met):
            while child.poll() is None and not met():
                pass

        if kind == "restoring":
            time.sleep(chance.uniform(0, 0.6))
            return
        goal = len(metrics(directory)) + chance.randrange(2, 12)
        wait_until(lambda: len(metrics(directory)) > goal)
        if kind == "saving":
            wait_until(lambda: any(".tmp-" in name for name in saved(directory)))
        elif kind == "removing":
            oldest = saved(directory)[:1]
            wait_until(lambda: saved(directory)[:1] != oldest)
        else:
            time.sleep(chance.uniform(0, 0.05))

    def test_killed_again_and_again(self):
        unbroken, killed = self.root / "unbroken", self.root / "killed"
        self.check(self.train(unbroken, *STEPS))
        chance, kills, lost = random.Random(7), 0, []
        for i in range(KILLS):
            kind = ("anytime", "saving", "anytime", "removing", "anytime", "restoring")[i % 6]
            with start(*self.train_command(killed, *STEPS)) as child:
                self.moment(kind, killed, child, chance)
                child.send_signal(signal.SIGKILL)
                child.stderr.read()
                kills += child.wait(timeout=120) == -signal.SIGKILL
            whole = [int(name[5:]) for name in saved(killed) if ".tmp-" not in name]
            lost.append(max(metrics(killed), default=0) - max(whole, default=0))
        self.assertEqual(kills, KILLS, "the run ended too soon: give it more steps")
        # A save is under way while the next interval begins.
        self.assertLessEqual(max(lost), 2 * SAVE_EVERY)
        self.check(self.train(killed, *STEPS))
        self.assertEqual(metrics(killed), metrics(unbroken))
        self.assertEqual(saved(killed), saved(unbroken))
        for name in saved(killed):
            self.assertEqual(tensors(pathlib.Path(killed) / name), tensors(pathlib.Path(unbroken) / name))
