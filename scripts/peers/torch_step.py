"""The training step of scripts/bench train_step in PyTorch, eager or compiled. Serves steps to time: see serve.py."""
import sys

import torch

import serve
from torch_model import Model

BF16, COMPILE = sys.argv[1] == "bf16", sys.argv[2] == "compile"


class Peer:
    def __init__(self):
        torch.manual_seed(0)
        self.model = Model(**serve.CONFIG, bf16=BF16)
        self.call = torch.compile(self.model) if COMPILE else self.model
        self.optimizer = torch.optim.AdamW(self.model.parameters(), 1e-3, (0.9, 0.99), weight_decay=0.1, fused=True)
        tokens = torch.randint(serve.CONFIG["vocab"], (serve.BATCH, serve.CONFIG["length"] + 1))
        self.ids, self.labels = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()

    def steps(self, count):
        for _ in range(count):
            self.optimizer.zero_grad(set_to_none=True)
            loss = self.call(self.ids, self.labels)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
        return float(loss)


serve.run(Peer)
