"""What the peers of scripts/bench train_step share: the model's sizes, and the protocol.

A peer reads a number of steps from a line of its input, runs them, and answers with a line of JSON: seconds a step, the
last loss, its largest resident memory so far in bytes. It waits in between, so that peers can take turns.
"""
import json
import resource
import sys
import time

CONFIG = {"layers": 6, "dim": 384, "heads": 6, "hidden": 1024, "vocab": 4096, "length": 256}
BATCH = 8


def run(peer_class):
    answer, sys.stdout = sys.stdout, sys.stderr
    peer = peer_class()
    peer.steps(2)  # compiles, and touches memory
    print(json.dumps({"ready": True}), file=answer, flush=True)
    for line in sys.stdin:
        count = int(line)
        start = time.perf_counter()
        loss = peer.steps(count)
        seconds = (time.perf_counter() - start) / count
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(json.dumps({"seconds": seconds, "loss": loss, "peak": peak}), file=answer, flush=True)
