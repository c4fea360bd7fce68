"""A Llama-style model in PyTorch, as plainly as one writes it: what Tenon's benchmarks are compared with."""
import torch
import torch.nn.functional as F


def rotate(x, cos, sin):
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


def linear(inputs, outputs):
    return torch.nn.Linear(inputs, outputs, bias=False)


class Layer(torch.nn.Module):
    def __init__(self, dim, heads, hidden):
        super().__init__()
        self.head_dim = dim // heads
        self.norm1, self.norm2 = torch.nn.RMSNorm(dim, 1e-5), torch.nn.RMSNorm(dim, 1e-5)
        self.q, self.k, self.v, self.o = (linear(dim, dim) for _ in range(4))
        self.gate, self.up, self.down = linear(dim, hidden), linear(dim, hidden), linear(hidden, dim)

    def forward(self, x, cos, sin):
        y = self.norm1(x)
        q, k, v = (t.unflatten(-1, (-1, self.head_dim)).transpose(1, 2) for t in (self.q(y), self.k(y), self.v(y)))
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        context = F.scaled_dot_product_attention(q, k.to(q.dtype), v.to(q.dtype), is_causal=True)
        x = x + self.o(context.transpose(1, 2).flatten(2))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Model(torch.nn.Module):
    """`tied`: the head is the embedding, which is multiplied by sqrt(dim) when read."""

    def __init__(self, layers, dim, heads, hidden, vocab, length, bf16=False, tied=False):
        super().__init__()
        self.bf16, self.tied, self.dim = bf16, tied, dim
        self.embedding = torch.nn.Embedding(vocab, dim)
        self.head = None if tied else linear(dim, vocab)
        self.layers, self.norm = torch.nn.ModuleList(Layer(dim, heads, hidden) for _ in range(layers)), torch.nn.RMSNorm(dim, 1e-5)
        half = torch.arange(0, dim // heads, 2) / (dim // heads)
        angle = torch.arange(length)[:, None] * 10000.0**-half
        self.cos, self.sin = (f(angle).to(torch.bfloat16 if bf16 else torch.float32) for f in (torch.cos, torch.sin))

    def forward(self, ids, labels, reduction="mean"):
        """The cross entropy of labels [B,T] after ids [B,T]; labels of -100 don't count."""
        with torch.autocast("cpu", torch.bfloat16, enabled=self.bf16):
            x = self.embedding(ids)
            if self.tied:
                x = x * self.dim**0.5
            for layer in self.layers:
                x = layer(x, self.cos, self.sin)
            x = self.norm(x)
            logits = F.linear(x, self.embedding.weight) if self.tied else self.head(x)
        return F.cross_entropy(logits.float().flatten(0, 1), labels.flatten(), reduction=reduction)
