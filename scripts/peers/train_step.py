"""Times the training step of Tenon and of its peers in turns, and prints ratios. Called by scripts/bench train_step."""
import argparse
import atexit
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

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
    # As the peers: their optimizer, a head of its own, an embedding that isn't multiplied.
    "model.head.type": "LinearHead",
    "model.embedding.multiplier": 1.0,
    "learner.optimizer.type": "AdamW",
    "learner.optimizer.b1": 0.9,
    "learner.optimizer.b2": 0.99,
    "learner.optimizer.eps": 1e-8,
    "learner.optimizer.weight_decay": 0.1,
    "learner.clip_global_norm": 1.0,
}
ENDLESS = ["max_steps=1000000", "log_every_n_steps=1", "save_every_n_steps=0"]
# What is measured with these kernels off, besides with all on.
KERNELS = {
    "attention": ["attention", "attention_backward"],
    "dot_general": ["dot_general"],
}


def gflop():
    """Of one step: products of matrices, forward and twice that backward, and attention without what masks save."""
    dim, length = CONFIG["dim"], CONFIG["length"]
    weights = CONFIG["layers"] * (4 * dim * dim + 3 * dim * CONFIG["hidden"]) + dim * CONFIG["vocab"]
    attention = 4 * CONFIG["layers"] * dim * length
    return 3 * BATCH * length * (2 * weights + attention) / 1e9


def fma_peak():
    """GFLOP/s of this machine's cores, by dtype."""
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "fma_peak")
        subprocess.run(["c++", "-O3", "-march=native", "-pthread", "-o", program, os.path.join(HERE, "fma_peak.cc")],
                       check=True)
        f32, bf16 = subprocess.run([program], check=True, capture_output=True, text=True).stdout.split()
    return {"f32": float(f32), "bf16": float(bf16)}


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
        answer = self.answer()
        self.peak = answer["peak"]
        return answer["seconds"]


class Tenon:
    """The command, which keeps training: stopped by a signal between turns, so that it is as warm as the peers are."""

    def __init__(self, binary, dtype, overrides, disabled=()):
        settings = {**OVERLAY, **({"model.compute_dtype": '"bf16"'} if dtype == "bf16" else {})}
        if disabled:
            settings["kernels.disable"] = json.dumps(disabled)
        self.run = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        command = [binary, "train", "austen", "--dir", self.run.name, "--resume", "never"]
        for text in [*(f"{k}={v}" for k, v in settings.items()), *overrides, *ENDLESS]:
            command += ["--set", text]
        self.errors = open(os.path.join(self.run.name, "errors"), "w+")
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=self.errors)
        atexit.register(self.process.kill)
        self.records, self.offset, self.done, self.host = [], 0, 0, []
        self.seconds(2)  # compiles, and touches memory

    def read_records(self):
        """Adds what the run has logged of steps since, whole lines only."""
        try:
            with open(os.path.join(self.run.name, "metrics.jsonl"), "rb") as lines:
                lines.seek(self.offset)
                while (line := lines.readline()).endswith(b"\n"):
                    self.records.append(json.loads(line))
                    self.offset += len(line)
        except FileNotFoundError:
            pass

    def seconds(self, steps):
        self.process.send_signal(signal.SIGCONT)
        # The first step it ends is the one it was stopped in. Seldom enough to take no time from it.
        while len(self.records) < self.done + 1 + steps:
            if self.process.poll() is not None:
                self.errors.seek(0)
                raise SystemExit(f"bench: {' '.join(self.process.args)}\n{self.errors.read()}")
            time.sleep(0.1)
            self.read_records()
        self.process.send_signal(signal.SIGSTOP)
        timed = self.records[self.done + 1:self.done + 1 + steps]
        self.read_records()
        self.done = len(self.records)
        with open(f"/proc/{self.process.pid}/status") as status:
            self.peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) * 1024
        self.host += [r["train/host_ms"] for r in timed]
        return statistics.mean(BATCH * CONFIG["length"] / r["train/tokens_per_s"] for r in timed)


def contestants(args, dtype):
    python = args.python
    out = {"tenon": Tenon(args.tenon, dtype, args.set)}
    for name in args.peers:
        if name.startswith("jax"):
            out[name] = Peer(python, "jax_step.py", dtype, env=TUNED if name == "jax_tuned" else None)
        else:
            out[name] = Peer(python, "torch_step.py", dtype, name.removeprefix("torch_"))
    for name in args.kernels_off:
        out[f"tenon without {name}"] = Tenon(args.tenon, dtype, args.set, KERNELS[name])
    return out


def measure(args, dtype, peak):
    entrants = contestants(args, dtype)
    times = {name: [] for name in entrants}
    for _ in range(args.rounds):
        for name, entrant in entrants.items():
            times[name].append(entrant.seconds(args.steps))
    for name, seconds in times.items():
        middle = statistics.median(seconds)
        rate = gflop() / middle
        print(f"{dtype} {name}: {middle:.3f} s a step (from {min(seconds):.3f} to {max(seconds):.3f}), {rate:.0f} GFLOP/s, "
              f"{rate / peak:.2f} of the peak, {entrants[name].peak / 2**20:.0f} MiB at most")
    print(f"{dtype} tenon: {statistics.median(entrants['tenon'].host):.2f} ms of a step outside the device")
    # A round's ratio is of neighbours in time, so that what else the machine does cancels.
    ratios = {}
    for name in list(times)[1:]:
        each = [t / p for t, p in zip(times["tenon"], times[name])]
        ratios[name] = statistics.median(each)
        print(f"{dtype} tenon/{name}: {ratios[name]:.3f} (from {min(each):.3f} to {max(each):.3f})")
    return f"train_step {dtype}: " + ", ".join(f"tenon/{name} {ratios[name]:.3f}" for name in args.peers)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what was stopped ends too
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tenon", required=True)
    parser.add_argument("--python", required=True, help="of the environment the peers are installed in")
    parser.add_argument("--dtypes", nargs="+", default=["f32", "bf16"])
    parser.add_argument("--peers", nargs="*", default=["jax", "jax_tuned", "torch_eager", "torch_compile"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--kernels-off", nargs="*", default=list(KERNELS), choices=list(KERNELS),
                        help="kernels without which tenon is measured too")
    parser.add_argument("--set", action="append", default=[], help="a field of tenon's config, as in tenon train")
    args = parser.parse_args()
    peak = fma_peak()
    print(f"{gflop():.0f} GFLOP a step; this machine's peak: {peak['f32']:.0f} GFLOP/s in f32, {peak['bf16']:.0f} in bf16",
          flush=True)
    lines = [measure(args, dtype, peak[dtype]) for dtype in args.dtypes]
    print("\n".join(lines))


if __name__ == "__main__":
    main()
