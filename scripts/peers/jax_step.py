"""The training step of scripts/bench train_step in JAX. Serves steps to time: see serve.py."""
import functools
import sys

import jax
import jax.numpy as jnp

import serve

CONFIG, BATCH, DTYPE = serve.CONFIG, serve.BATCH, {"f32": jnp.float32, "bf16": jnp.bfloat16}[sys.argv[1]]
D, N, F, V, L, T = (CONFIG[k] for k in ("dim", "heads", "hidden", "vocab", "layers", "length"))
H = D // N


def init(key):
    def weight(i, shape):
        return jax.random.normal(jax.random.fold_in(key, i), shape, jnp.float32) / shape[0] ** 0.5

    layers = []
    for layer in range(L):
        shapes = {"q": (D, D), "k": (D, D), "v": (D, D), "o": (D, D), "gate": (D, F), "up": (D, F), "down": (F, D)}
        params = {name: weight(100 * layer + i, shape) for i, (name, shape) in enumerate(shapes.items())}
        layers.append(params | {"norm1": jnp.ones(D), "norm2": jnp.ones(D)})
    return {"emb": weight(10_001, (V, D)), "head": weight(10_002, (D, V)), "norm": jnp.ones(D), "layers": layers}


def norm(x, scale):
    wide = x.astype(jnp.float32)
    return (wide * jax.lax.rsqrt(jnp.mean(wide * wide, -1, keepdims=True) + 1e-5) * scale).astype(x.dtype)


def rotate(x, cos, sin):
    a, b = jnp.split(x, 2, -1)
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def heads(x):
    return x.reshape(BATCH, T, N, H).transpose(0, 2, 1, 3)


def attention(p, x, cos, sin):
    q, k, v = rotate(heads(x @ p["q"]), cos, sin), rotate(heads(x @ p["k"]), cos, sin), heads(x @ p["v"])
    logits = jnp.einsum("bnth,bnsh->bnts", q, k, preferred_element_type=jnp.float32) * H**-0.5
    logits = jnp.where(jnp.tril(jnp.ones((T, T), bool)), logits, -1e30)
    weights = jax.nn.softmax(logits, -1).astype(x.dtype)
    return (weights @ v).transpose(0, 2, 1, 3).reshape(BATCH, T, D) @ p["o"]


def loss_of(params, ids, labels):
    cast = jax.tree.map(lambda w: w.astype(DTYPE) if w.ndim > 1 else w, params)
    angle = jnp.arange(T)[:, None] * 10000.0 ** (-jnp.arange(0, H, 2) / H)
    cos, sin = jnp.cos(angle).astype(DTYPE), jnp.sin(angle).astype(DTYPE)
    x = cast["emb"][ids]
    for p in cast["layers"]:
        x = x + attention(p, norm(x, p["norm1"]), cos, sin)
        y = norm(x, p["norm2"])
        x = x + (jax.nn.silu(y @ p["gate"]) * (y @ p["up"])) @ p["down"]
    logits = (norm(x, cast["norm"]) @ cast["head"]).astype(jnp.float32)
    chosen = jnp.take_along_axis(logits, labels[..., None], -1)[..., 0]
    return jnp.mean(jax.nn.logsumexp(logits, -1) - chosen)


@functools.partial(jax.jit, donate_argnums=0)
def step(state, ids, labels):
    params, m, v, count = state
    loss, grads = jax.value_and_grad(loss_of)(params, ids, labels)
    square = sum(jnp.sum(g * g) for g in jax.tree.leaves(grads))
    scale = jnp.minimum(1.0, jax.lax.rsqrt(square))
    count = count + 1
    b1, b2 = 1 - 0.9**count, 1 - 0.99**count
    m = jax.tree.map(lambda a, g: 0.9 * a + 0.1 * g * scale, m, grads)
    v = jax.tree.map(lambda a, g: 0.99 * a + 0.01 * (g * scale) ** 2, v, grads)
    params = jax.tree.map(lambda w, a, b: w - 1e-3 * (0.1 * w + (a / b1) / (jnp.sqrt(b / b2) + 1e-8)), params, m, v)
    return (params, m, v, count), loss


class Peer:
    def __init__(self):
        params = init(jax.random.key(0))
        zeros = functools.partial(jax.tree.map, jnp.zeros_like)
        self.state = (params, zeros(params), zeros(params), jnp.float32(0))
        tokens = jax.random.randint(jax.random.key(1), (BATCH, T + 1), 0, V)
        self.ids, self.labels = tokens[:, :-1], tokens[:, 1:]

    def steps(self, count):
        for _ in range(count):
            self.state, loss = step(self.state, self.ids, self.labels)
        return float(loss)


serve.run(Peer)
