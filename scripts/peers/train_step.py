"""Times the training step of Tenon and of its peers in turns, and prints ratios. Called by scripts/bench train_step."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

from serve import BATCH, CONFIG

HERE = os.path.dirname(os.path.abspath(__file__))
# What tenon's own `main` asks of the allocator.
TUNED = {"GLIBC_TUNABLES": "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=18446744073709551615:"
                           "glibc.malloc.top_pad=67108864:glibc.malloc.arena_max=1:glibc.malloc.hugetlb=1"}
LAYER = "model.decoder.pattern.0."
OVERLAY = {
    "model.vocab_size": CONFIG["vocab"],
    "model.model_dim": CONFIG["dim"],
    "model.decoder.num_layers": CONFIG["layers"],
    LAYER + "attention.num_heads": CONFIG["heads"],
    LAYER + "feed_forward.hidden_dim": CONFIG["hidden"],
    "data.batch_size": BATCH,
    "data.sequence_length": CONFIG["length"],
    "data.eval_fraction": 0.0,
}


class Peer:
    """A process that waits for its turn; see serve.py."""

    def __init__(self, python, script, *args, env=None):
        command = [python, os.path.join(HERE, script), *args]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        text=True, env={**os.environ, **(env or {})})
        if not self.answer().get("ready"):
            raise SystemExit(f"bench: {' '.join(command)} doesn't start")

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("bench: a peer died; run its script alone to see why")
        return json.loads(line)

    def seconds(self, steps):
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        return self.answer()["seconds"]


class Tenon:
    """Runs the command anew each time; the compiled step comes from its cache."""

    def __init__(self, binary, dtype, overrides):
        self.binary = binary
        settings = {**OVERLAY, **({"model.compute_dtype": '"bf16"'} if dtype == "bf16" else {})}
        self.sets = [f"{k}={v}" for k, v in settings.items()] + overrides
        self.seconds(1)

    def seconds(self, steps):
        warm = 2
        with tempfile.TemporaryDirectory() as run:
            command = [self.binary, "train", "austen", "--dir", run, "--resume", "never"]
            for text in [*self.sets, f"max_steps={warm + steps}", "log_every_n_steps=1"]:
                command += ["--set", text]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                raise SystemExit(f"bench: {' '.join(command)}\n{done.stderr}")
            with open(os.path.join(run, "metrics.jsonl")) as lines:
                rates = [r["train/tokens_per_s"] for r in map(json.loads, lines) if "train/tokens_per_s" in r]
        return statistics.mean(BATCH * CONFIG["length"] / r for r in rates[warm:])


def contestants(args, dtype):
    python = args.python
    out = {"tenon": Tenon(args.tenon, dtype, args.set)}
    for name in args.peers:
        if name.startswith("jax"):
            out[name] = Peer(python, "jax_step.py", dtype, env=TUNED if name == "jax_tuned" else None)
        else:
            out[name] = Peer(python, "torch_step.py", dtype, name.removeprefix("torch_"))
    return out


def measure(args, dtype):
    entrants = contestants(args, dtype)
    times = {name: [] for name in entrants}
    for _ in range(args.rounds):
        for name, entrant in entrants.items():
            times[name].append(entrant.seconds(args.steps))
    for name, seconds in times.items():
        middle = statistics.median(seconds)
        print(f"{dtype} {name}: {middle:.3f} s a step (from {min(seconds):.3f} to {max(seconds):.3f}), "
              f"{args.gflop / middle:.0f} GFLOP/s")
    # A round's ratio is of neighbours in time, so that what else the machine does cancels.
    ratios = []
    for name in list(times)[1:]:
        each = [t / p for t, p in zip(times["tenon"], times[name])]
        ratios.append(f"tenon/{name} {statistics.median(each):.3f}")
    return f"train_step {dtype}: {', '.join(ratios)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tenon", required=True)
    parser.add_argument("--python", required=True, help="of the environment the peers are installed in")
    parser.add_argument("--dtypes", nargs="+", default=["f32", "bf16"])
    parser.add_argument("--peers", nargs="*", default=["jax", "jax_tuned", "torch_eager", "torch_compile"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--gflop", type=float, default=164.0, help="of one step")
    parser.add_argument("--set", action="append", default=[], help="a field of tenon's config, as in tenon train")
    args = parser.parse_args()
    lines = [measure(args, dtype) for dtype in args.dtypes]
    print("\n".join(lines))


if __name__ == "__main__":
    main()
