"""The experiment `austen` in PyTorch: model, optimizers, schedule and held-out text as Tenon has them.

Prints a line of JSON at each evaluation: steps done, seconds since `--since` less those of evaluations, bits per byte.
"""
import argparse
import json
import math
import pathlib
import time

import numpy
import torch

from torch_model import Model

PAD, BOS, EOS, VOCAB = 256, 257, 258, 259
MODEL = {"layers": 4, "dim": 128, "heads": 4, "hidden": 352, "vocab": VOCAB, "length": 256, "tied": True}
BATCH, LENGTH = 8, MODEL["length"]


def documents(folder):
    """(training, held-out) documents: the last tenth of the bytes is held out, and cuts a novel in two."""
    texts = [numpy.frombuffer(path.read_bytes(), numpy.uint8) for path in sorted(pathlib.Path(folder).glob("*.txt"))]
    first = sum(map(len, texts))
    first -= int(first * 0.1)
    train, held_out, at = [], [], 0
    for text in texts:
        cut = min(max(first - at, 0), len(text))
        train += [text[:cut]] if cut else []
        held_out += [text[cut:]] if cut < len(text) else []
        at += len(text)
    return train, held_out


def stream(texts, end):
    """Tokens and labels of documents one behind the other; `end` labels the last byte of each."""
    tokens = numpy.concatenate([numpy.concatenate([[BOS], text]) for text in texts])
    labels = numpy.concatenate([numpy.concatenate([text, [end]]) for text in texts])
    return torch.from_numpy(tokens.astype(numpy.int64)), torch.from_numpy(labels.astype(numpy.int64))


def initialize(model):
    for name, parameter in model.named_parameters():
        if parameter.dim() == 2:
            scale = 0.2 if ".o." in name or ".down." in name else 1.0
            torch.nn.init.normal_(parameter, std=scale / parameter.shape[1] ** 0.5)


def make_optimizers(model):
    """Pairs of an optimizer and what the learning rate is multiplied by for it."""
    layers = dict(model.layers.named_parameters())
    matrices = [p for p in layers.values() if p.dim() == 2]
    norms = [p for p in model.parameters() if p.dim() == 1]
    adamw = {"betas": (0.9, 0.99), "fused": True}
    return [
        (torch.optim.Muon(matrices, momentum=0.9, weight_decay=0.1, adjust_lr_fn="match_rms_adamw"), 1.0),
        (torch.optim.AdamW(norms, weight_decay=0.0, **adamw), 1.0),
        (torch.optim.AdamW([model.embedding.weight], weight_decay=0.1, **adamw), 0.3),
    ]


def learning_rate(step, steps):
    warmup = steps // 20
    if step < warmup:
        return 1e-2 * (step + 1) / warmup
    done = (step - warmup) / (steps - warmup)
    return 1e-2 * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * done)))


@torch.no_grad()
def bits_per_byte(model, tokens, labels):
    rows = -(-len(tokens) // LENGTH)
    pad = rows * LENGTH - len(tokens)
    ids = torch.nn.functional.pad(tokens, (0, pad), value=PAD).view(rows, LENGTH)
    goals = torch.nn.functional.pad(labels, (0, pad), value=-100).view(rows, LENGTH)
    total = sum(float(model(ids[i:i + BATCH], goals[i:i + BATCH], "sum")) for i in range(0, rows, BATCH))
    return total / int((goals >= 0).sum()) / math.log(2)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--since", type=float, default=time.time(), help="seconds of the epoch; default: now")
    parser.add_argument("--data", default="data/austen")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--eval_every", type=int, required=True)
    parser.add_argument("--compile", action="store_true")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    train, held_out = documents(args.data)
    tokens, labels = stream(train, EOS)
    held_out = stream(held_out, -100)
    model = Model(**MODEL)
    initialize(model)
    call = torch.compile(model) if args.compile else model
    optimizers = make_optimizers(model)
    windows = torch.randperm(len(tokens) // LENGTH)
    paused = 0.0
    for step in range(args.steps):
        picks = windows[torch.arange(step * BATCH, (step + 1) * BATCH) % len(windows)]
        at = picks[:, None] * LENGTH + torch.arange(LENGTH)
        for optimizer, scale in optimizers:
            optimizer.zero_grad(set_to_none=True)
            for group in optimizer.param_groups:
                group["lr"] = scale * learning_rate(step, args.steps)
        call(tokens[at], labels[at]).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer, _ in optimizers:
            optimizer.step()
        if (step + 1) % args.eval_every == 0:
            start = time.time()
            bits = bits_per_byte(model, *held_out)
            print(json.dumps({"step": step + 1, "seconds": start - args.since - paused, "bits_per_byte": bits}), flush=True)
            paused += time.time() - start


main()
