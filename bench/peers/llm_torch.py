#!/usr/bin/env python3
"""The model of examples/llm in PyTorch: the same shapes, the same cache, greedy choice on the device.

usage: llm_torch.py [--size 22x2048] [--batch 1,16] [--context 1024] [--tokens 128]
                    [--loop captured,compiled] [--attention heads,grouped,products]
                    [--tune] [--bandwidth GB/s]

Each loop runs in a process of its own, so that what it reserves is its own. A prompt of context - tokens tokens goes
through at once; then a step for each token, which is one CUDA graph: of the functions as they are (captured), or of
what torch.compile makes of the step (compiled; with --tune its longer search). It says tokens per second of the steps,
and what PyTorch's allocator had allocated and reserved at most. Before anything is timed, a small model decodes by
steps, by the graph, and without any cache: if their tokens differ, that is an error.
"""
import argparse
import itertools
import subprocess
import sys
import time

import torch
from torch.nn import functional as F

EPSILON, THETA = 1e-5, 10000.0
LOOPS, ATTENTIONS = {"captured", "compiled"}, {"heads", "grouped", "products"}


def sizes(size, context):
    """The sizes that examples/llm derives from layers and width."""
    layers, width = (int(n) for n in size.split("x"))
    head, vocab = (64, 32000) if width >= 512 else (16, 256)
    heads = width // head
    return dict(layers=layers, width=width, head=head, heads=heads, kv=max(1, heads // 8), vocab=vocab,
                hidden=(width * 11 // 4 + 63) // 64 * 64, context=context)


def repeated(x, times):
    """Repeats each head, for the queries that share it."""
    batch, heads, length, head = x.shape
    return x.unsqueeze(2).expand(batch, heads, times, length, head).reshape(batch, heads * times, length, head)


class Model:
    """Weights, and the step and the prompt as plain functions of tensors."""

    def __init__(self, c, dtype, attention):
        self.c, self.kind = c, attention
        kv, q = c["kv"] * c["head"], c["heads"] * c["head"]
        random = torch.Generator(device="cuda").manual_seed(1)

        def matrix(rows, cols):
            # In pieces, so that no copy of 32 bits of all of it is ever there.
            w = torch.empty(rows, cols, device="cuda", dtype=dtype)
            for at in range(0, rows, 4096):
                part = w[at:at + 4096]
                part.copy_((torch.rand(part.shape, device="cuda", generator=random) * 2 - 1) * (3 / cols)**0.5)
            return w

        def gain():
            return torch.ones(c["width"], device="cuda", dtype=dtype)

        self.embedding = matrix(c["vocab"], c["width"])
        self.layers = [(gain(), matrix(q + 2 * kv, c["width"]), matrix(c["width"], q), gain(),
                        matrix(2 * c["hidden"], c["width"]), matrix(c["width"], c["hidden"]))
                       for _ in range(c["layers"])]
        self.norm, self.out = gain(), matrix(c["vocab"], c["width"])
        half = c["head"] // 2
        angles = torch.outer(torch.arange(c["context"], device="cuda", dtype=torch.float64),
                             THETA**(-torch.arange(half, device="cuda", dtype=torch.float64) / half))
        self.cos, self.sin = angles.cos().float(), angles.sin().float()
        self.places = torch.arange(c["context"], device="cuda")

    def state(self, batch, dtype):
        c = self.c

        def cache():
            return [torch.zeros(batch, c["kv"], c["context"], c["head"], device="cuda", dtype=dtype)
                    for _ in range(c["layers"])]

        return dict(keys=cache(), values=cache(),
                    tokens=torch.zeros(batch, device="cuda", dtype=torch.int64),
                    position=torch.zeros(1, device="cuda", dtype=torch.int64),
                    out=torch.zeros(batch, c["context"] + 1, device="cuda", dtype=torch.int64))

    def normed(self, x, gain):
        wide = x.float()
        return (wide * (wide.pow(2).mean(-1, keepdim=True) + EPSILON).rsqrt()).to(x.dtype) * gain

    def turned(self, x, cos, sin):
        """Turns ... x heads x head; cos and sin are ... x 1 x head/2."""
        half = self.c["head"] // 2
        a, b = x[..., :half].float(), x[..., half:].float()
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1).to(x.dtype)

    def split(self, x, gain, weights, shape):
        c = self.c
        q, k, v = F.linear(self.normed(x, gain), weights).split(
            [c["heads"] * c["head"], c["kv"] * c["head"], c["kv"] * c["head"]], -1)
        return (q.view(*shape, c["heads"], c["head"]), k.view(*shape, c["kv"], c["head"]),
                v.view(*shape, c["kv"], c["head"]))

    def fed(self, x, gain, up, down):
        a, b = F.linear(self.normed(x, gain), up).chunk(2, -1)
        return x + F.linear(F.silu(a) * b, down)

    def chosen(self, x):
        return F.linear(self.normed(x, self.norm), self.out).argmax(-1)

    def prompt(self, s, tokens, upto):
        """Takes a prompt, batch x length, into the cache, and returns the next tokens."""
        c, (batch, length) = self.c, tokens.shape
        x = self.embedding[tokens]
        cos, sin = self.cos[:length, None], self.sin[:length, None]
        group = c["heads"] // c["kv"]
        for i, (norm1, qkv, o, norm2, up, down) in enumerate(self.layers):
            q, k, v = self.split(x, norm1, qkv, (batch, length))
            q, k = self.turned(q, cos, sin).transpose(1, 2), self.turned(k, cos, sin).transpose(1, 2)
            v = v.transpose(1, 2)
            if s is not None:
                s["keys"][i][:, :, :length] = k
                s["values"][i][:, :, :length] = v
            # Each key serves a group of queries.
            a = F.scaled_dot_product_attention(q, repeated(k, group), repeated(v, group), is_causal=True)
            del q, k, v
            x = x + F.linear(a.transpose(1, 2).reshape(batch, length, -1), o)
            del a
            x = self.fed(x, norm2, up, down)
        return self.chosen(x[:, upto])

    def attend(self, q, k, v, seen):
        """Attention of one row of each sequence, in one of three ways. q is batch x heads x head."""
        c, batch = self.c, q.shape[0]
        group = c["heads"] // c["kv"]
        if self.kind == "heads":  # a key for each query
            return F.scaled_dot_product_attention(
                q.unsqueeze(2), repeated(k, group), repeated(v, group), attn_mask=seen)
        # The queries of a group see the same keys: they are rows of one, so that no key is copied.
        q = q.view(batch, c["kv"], group, c["head"])
        if self.kind == "grouped":
            return F.scaled_dot_product_attention(q, k, v, attn_mask=seen.expand(batch, c["kv"], group, c["context"]))
        fits = (q @ k.transpose(-1, -2)).float() * c["head"]**-0.5  # products
        return fits.masked_fill(~seen, float("-inf")).softmax(-1).to(v.dtype) @ v

    def step(self, s):
        """Gives each sequence its next token; all of them stand at one position."""
        c, batch = self.c, s["tokens"].shape[0]
        x = self.embedding[s["tokens"]]
        cos, sin = self.cos[s["position"]], self.sin[s["position"]]
        seen = (self.places <= s["position"]).view(1, 1, 1, -1)
        for i, (norm1, qkv, o, norm2, up, down) in enumerate(self.layers):
            q, k, v = self.split(x, norm1, qkv, (batch,))
            s["keys"][i][:, :, s["position"]] = self.turned(k, cos, sin).unsqueeze(2)
            s["values"][i][:, :, s["position"]] = v.unsqueeze(2)
            a = self.attend(self.turned(q, cos, sin), s["keys"][i], s["values"][i], seen)
            x = x + F.linear(a.reshape(batch, -1), o)
            x = self.fed(x, norm2, up, down)
        tokens = self.chosen(x)
        s["tokens"].copy_(tokens)
        s["position"].add_(1)
        s["out"][:, s["position"]] = tokens.unsqueeze(1)

    def begin(self, s, tokens):
        first = self.prompt(s, tokens, -1)
        length = tokens.shape[1]
        s["tokens"].copy_(first)
        s["position"].fill_(length)
        s["out"][:, length] = first


def graph_of(m, s, compiled, tune):
    """Returns a CUDA graph of one step. What warming up has written is written again by who uses it."""
    step = m.step
    if compiled:
        if tune:
            from torch._inductor import config
            config.coordinate_descent_tuning = True
        step = torch.compile(m.step, fullgraph=True, dynamic=False,
                             mode="max-autotune-no-cudagraphs" if tune else "default")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step(s)
            s["position"].sub_(1)
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        step(s)
    return g


def check(compiled, tune, attention):
    """A small model of 32 bits: steps, the graph and a model without a cache must choose the same tokens."""
    c = sizes("2x64", 64)
    m = Model(c, torch.float32, attention)
    prompt = torch.randint(c["vocab"], (3, 20), device="cuda", generator=torch.Generator("cuda").manual_seed(2))
    s = m.state(3, torch.float32)
    m.begin(s, prompt)
    for _ in range(15):
        m.step(s)
    plain = s["out"][:, 20:36].clone()
    g = graph_of(m, s, compiled, tune)
    m.begin(s, prompt)
    for _ in range(15):
        g.replay()
    captured = s["out"][:, 20:36].clone()
    text = prompt
    for _ in range(16):
        text = torch.cat([text, m.prompt(None, text, -1)[:, None]], 1)
    torch.cuda.synchronize()
    for name, other in ("a graph of them", captured), ("a model without a cache", text[:, 20:]):
        if not torch.equal(plain, other):
            sys.exit(f"llm_torch: by steps {plain.tolist()}, by {name} {other.tolist()}")


def run(o):
    torch.set_grad_enabled(False)
    batch, compiled = int(o.batch), o.loop == "compiled"
    check(compiled, o.tune, o.attention)
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    if compiled:
        torch.compiler.reset()
    torch.cuda.reset_peak_memory_stats()

    c = sizes(o.size, o.context)
    m = Model(c, torch.bfloat16, o.attention)
    prompt = torch.randint(c["vocab"], (batch, o.context - o.tokens), device="cuda",
                           generator=torch.Generator("cuda").manual_seed(3))
    s = m.state(batch, torch.bfloat16)
    m.begin(s, prompt)  # to be warm
    g = graph_of(m, s, compiled, o.tune)
    torch.cuda.synchronize()
    begin = time.perf_counter()
    m.begin(s, prompt)
    torch.cuda.synchronize()
    prefill = time.perf_counter() - begin
    begin = time.perf_counter()
    for _ in range(o.tokens - 1):
        g.replay()
    torch.cuda.synchronize()
    decode = time.perf_counter() - begin
    answer = s["out"][0, o.context - o.tokens:o.context - o.tokens + 8].tolist()

    steps = o.tokens - 1
    weights = sum(w.numel() for layer in m.layers for w in layer) + m.norm.numel() + m.out.numel()
    before = batch * sum(o.context - o.tokens + 1 + i for i in range(steps))
    read = 2 * (weights * steps + 2 * c["layers"] * c["kv"] * c["head"] * before)
    rate = read / decode / 1e9
    share = f", {100 * rate / o.bandwidth:.0f} % of the memory's" if o.bandwidth else ""
    gib = 2**30
    how = f"{o.loop}{' and tuned' if compiled and o.tune else ''}, attention by {o.attention}"
    print(f"batch {batch}, {how}: {batch * steps / decode:.1f} tokens/s, "
          f"{1e3 * decode / steps:.4f} ms a step ({rate:.0f} GB/s{share}); prompts "
          f"{batch * (o.context - o.tokens) / prefill:.0f} tokens/s; "
          f"peak {torch.cuda.max_memory_allocated() / gib:.3f} GiB, reserved {torch.cuda.max_memory_reserved() / gib:.3f} GiB; answer {answer}", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--size", default="22x2048")
    p.add_argument("--batch", default="1,16")
    p.add_argument("--context", type=int, default=1024)
    p.add_argument("--tokens", type=int, default=128)
    p.add_argument("--loop", default="captured,compiled")
    p.add_argument("--attention", default="heads,grouped,products")
    p.add_argument("--tune", action="store_true")
    p.add_argument("--bandwidth", type=float, default=0)
    p.add_argument("--here", action="store_true", help="one batch and one loop, in this process")
    o = p.parse_args()
    if not 2 <= o.tokens < o.context:
        p.error("--tokens: want at least 2, and less than the context")
    for given, known in ((o.loop, LOOPS), (o.attention, ATTENTIONS)):
        if not set(given.split(",")) <= known:
            p.error(f"{given}: want some of {', '.join(sorted(known))}")
    if o.here:
        run(o)
        return
    print(f"PyTorch {torch.__version__}, {torch.cuda.get_device_name(0)}", flush=True)
    failed = 0
    for batch in o.batch.split(","):
        for loop, attention in itertools.product(o.loop.split(","), o.attention.split(",")):
            command = [sys.executable, __file__, "--here", "--size", o.size, "--batch", batch, "--context",
                       str(o.context), "--tokens", str(o.tokens), "--loop", loop, "--attention", attention,
                       "--bandwidth", str(o.bandwidth)]
            failed += subprocess.run(command + ["--tune"] * o.tune, check=False).returncode != 0
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
