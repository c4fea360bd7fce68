"""Times `austen` in Tenon and in PyTorch to a loss on held-out text, seed by seed. Called by scripts/bench time_to_loss."""
import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))


def tenon(args, seed):
    """Its evaluations: dicts of step, seconds, bits_per_byte, as torch_austen.py prints them."""
    with tempfile.TemporaryDirectory() as run:
        command = [args.tenon, "train", "austen", "--dir", run]
        for text in (f"args.max_steps={args.steps}", f"seed={seed}", f"data.seed={seed}", "save_every_n_steps=0",
                     f"log_every_n_steps={args.eval_every}", f"eval_every_n_steps={args.eval_every}"):
            command += ["--set", text]
        # A user's first run: nothing compiled before.
        env = {**os.environ, "TENON_CACHE_DIR": os.path.join(run, "cache")}
        since = time.time()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=env)
        with open(os.path.join(run, "metrics.jsonl")) as lines:
            records = [json.loads(line) for line in lines]
    trained, evaluations, paused = None, [], 0.0
    for record in records:
        if "eval/bits_per_byte" not in record:
            trained = record["time"]
            continue
        evaluations.append({"step": record["step"], "seconds": trained - since - paused,
                            "bits_per_byte": record["eval/bits_per_byte"]})
        paused += record["time"] - trained
    return evaluations


def torch(args, seed, *options):
    command = [args.python, os.path.join(HERE, "torch_austen.py"), "--since", repr(time.time()), "--seed", str(seed),
               "--steps", str(args.steps), "--eval_every", str(args.eval_every), *options]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [json.loads(line) for line in output.splitlines()]


def seconds_to(target, evaluations):
    """When the loss reached `target`, between the evaluations around it; none when it never did."""
    for before, after in zip(evaluations, evaluations[1:]):
        if before["bits_per_byte"] > target >= after["bits_per_byte"]:
            part = (before["bits_per_byte"] - target) / (before["bits_per_byte"] - after["bits_per_byte"])
            return before["seconds"] + part * (after["seconds"] - before["seconds"])
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tenon", required=True)
    parser.add_argument("--python", required=True, help="of the environment that PyTorch is installed in")
    parser.add_argument("--bits_per_byte", type=float, default=1.80)
    parser.add_argument("--steps", type=int, default=1000, help="of the schedule")
    parser.add_argument("--eval_every", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--peers", nargs="+", default=["torch_eager", "torch_compile"],
                        choices=["torch_eager", "torch_compile"])
    args = parser.parse_args()
    entrants = {"tenon": tenon}
    for name in args.peers:
        entrants[name] = lambda a, seed, o=["--compile"] * (name == "torch_compile"): torch(a, seed, *o)
    times = {name: [] for name in entrants}
    for seed in range(args.seeds):
        for name, run in entrants.items():
            evaluations = run(args, seed)
            took = seconds_to(args.bits_per_byte, evaluations)
            last = evaluations[-1]
            reached = f"{took:.1f} s to {args.bits_per_byte:.2f}" if took else f"{args.bits_per_byte:.2f} not reached"
            print(f"seed {seed} {name}: {reached} bits per byte; {last['bits_per_byte']:.4f} after {last['step']} steps, "
                  f"{last['seconds']:.1f} s", flush=True)
            if took is None:
                raise SystemExit(f"bench: {name} never came to the loss: give more --steps")
            times[name].append(took)
    for name, took in times.items():
        print(f"{name}: {statistics.median(took):.1f} s (from {min(took):.1f} to {max(took):.1f})")
    middle = {name: statistics.median(took) for name, took in times.items()}
    print("time_to_loss: " + ", ".join(f"tenon/{name} {middle['tenon'] / middle[name]:.3f}" for name in args.peers))


main()
