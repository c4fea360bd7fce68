"""The training step of scripts/bench train_step in PyTorch, eager or compiled. Serves steps to time: see serve.py."""
import sys

import torch
import torch.nn.functional as F

import serve

CONFIG, BATCH = serve.CONFIG, serve.BATCH
D, N, HIDDEN, V, L, T = (CONFIG[k] for k in ("dim", "heads", "hidden", "vocab", "layers", "length"))
H = D // N
BF16, COMPILE = sys.argv[1] == "bf16", sys.argv[2] == "compile"


def rotate(x, cos, sin):
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = torch.nn.RMSNorm(D, 1e-5), torch.nn.RMSNorm(D, 1e-5)
        linear = lambda i, o: torch.nn.Linear(i, o, bias=False)
        self.q, self.k, self.v, self.o = (linear(D, D) for _ in range(4))
        self.gate, self.up, self.down = linear(D, HIDDEN), linear(D, HIDDEN), linear(HIDDEN, D)

    def forward(self, x, cos, sin):
        y = self.norm1(x)
        heads = lambda t: t.view(BATCH, T, N, H).transpose(1, 2)
        q, k, v = rotate(heads(self.q(y)), cos, sin), rotate(heads(self.k(y)), cos, sin), heads(self.v(y))
        context = F.scaled_dot_product_attention(q, k.to(q.dtype), v.to(q.dtype), is_causal=True)
        x = x + self.o(context.transpose(1, 2).reshape(BATCH, T, D))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.head = torch.nn.Embedding(V, D), torch.nn.Linear(D, V, bias=False)
        self.layers, self.norm = torch.nn.ModuleList(Layer() for _ in range(L)), torch.nn.RMSNorm(D, 1e-5)
        angle = torch.arange(T)[:, None] * 10000.0 ** (-torch.arange(0, H, 2) / H)
        self.cos, self.sin = (f(angle).to(torch.bfloat16 if BF16 else torch.float32) for f in (torch.cos, torch.sin))

    def forward(self, ids, labels):
        with torch.autocast("cpu", torch.bfloat16, enabled=BF16):
            x = self.emb(ids)
            for layer in self.layers:
                x = layer(x, self.cos, self.sin)
            logits = self.head(self.norm(x))
        return F.cross_entropy(logits.float().view(-1, V), labels.reshape(-1))


class Peer:
    def __init__(self):
        torch.manual_seed(0)
        self.model = Model()
        self.call = torch.compile(self.model) if COMPILE else self.model
        self.optimizer = torch.optim.AdamW(self.model.parameters(), 1e-3, (0.9, 0.99), weight_decay=0.1, fused=True)
        tokens = torch.randint(V, (BATCH, T + 1))
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
