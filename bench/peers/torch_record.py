#!/usr/bin/env python3
"""Record what a program asks of PyTorch's allocator, as a trace in the form of bench/trace.

    train   training steps of a small transformer in mixed precision, whose sequences change in length; batches come over a
            stream of their own
    lora    a LoRA fine-tune of a frozen transformer that recomputes activations, whose batches change in shape
    infer   generation with KV caches that grow by a token a step, several batches in turns, out of which sequences drop when
            they end
    tiny    some tensors on two streams, for tests

Weights and data are random, with fixed seeds. Each run is a process of its own, since a history must begin with the program.

usage: torch_record.py WORKLOAD TRACE.gz [--allocations N] [--snapshot FILE]
"""
import argparse
import pickle
import random
import sys
import time

import trace_text

VOCABULARY = 32000


def blocks(torch):
    """Return the class of a transformer's block. It is a function so that --help needs no PyTorch."""
    from torch import nn
    from torch.nn import functional as F

    class Lora(nn.Module):
        """A frozen linear layer with an adapter of low rank."""

        def __init__(self, inner, rank, **kind):
            super().__init__()
            self.inner = inner.requires_grad_(False)
            self.down = nn.Parameter(torch.randn(rank, inner.in_features, **kind) * 0.02)
            self.up = nn.Parameter(torch.zeros(inner.out_features, rank, **kind))

        def forward(self, x):
            return self.inner(x) + F.linear(F.linear(x, self.down), self.up)

    class Block(nn.Module):
        def __init__(self, width, heads, rank=0, **kind):
            super().__init__()
            self.heads = heads
            self.norm1 = nn.LayerNorm(width, **kind)
            self.qkv = nn.Linear(width, 3 * width, bias=False, **kind)
            self.out = nn.Linear(width, width, bias=False, **kind)
            self.norm2 = nn.LayerNorm(width, **kind)
            self.up = nn.Linear(width, 4 * width, **kind)
            self.down = nn.Linear(4 * width, width, **kind)
            if rank:
                self.requires_grad_(False)
                self.qkv = Lora(self.qkv, rank, **kind)
                self.out = Lora(self.out, rank, **kind)

        def forward(self, x, cache=None):
            b, s, width = x.shape
            qkv = self.qkv(self.norm1(x))
            q, k, v = (t.view(b, s, self.heads, -1).transpose(1, 2) for t in qkv.split(width, dim=-1))
            causal = True
            if cache is not None:
                if cache:
                    k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)
                    causal = False  # one new token sees all that came before
                else:
                    k, v = k.contiguous(), v.contiguous()  # not a view that keeps the queries alive
                cache[:] = [k, v]
            y = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
            x = x + self.out(y.transpose(1, 2).reshape(b, s, width))
            return x + self.down(F.gelu(self.up(self.norm2(x))))

    return Block


def allocations(torch):
    """How many allocations there have been."""
    return torch.cuda.memory_stats()["allocation.all.allocated"]


def train(torch, most):
    from torch import nn
    from torch.nn import functional as F
    Block = blocks(torch)
    width, depth, batch = 1024, 6, 4
    pick = random.Random(1)
    embed = nn.Embedding(VOCABULARY, width, device="cuda")
    layers = nn.ModuleList([Block(width, 16, device="cuda") for _ in range(depth)])
    norm = nn.LayerNorm(width, device="cuda")
    parameters = [p for m in (embed, layers, norm) for p in m.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=1e-4)
    side = torch.cuda.Stream()

    def fetch():
        tokens = torch.randint(VOCABULARY, (batch, pick.randint(128, 2048) + 1)).pin_memory()
        with torch.cuda.stream(side):
            return tokens.to("cuda", non_blocking=True)

    steps, following = 0, fetch()
    while allocations(torch) < most:
        torch.cuda.current_stream().wait_stream(side)
        tokens, following = following, fetch()
        tokens.record_stream(torch.cuda.current_stream())
        with torch.autocast("cuda", dtype=torch.bfloat16):
            x = embed(tokens[:, :-1])
            for layer in layers:
                x = layer(x)
            logits = F.linear(norm(x), embed.weight)
            loss = F.cross_entropy(logits.float().view(-1, VOCABULARY), tokens[:, 1:].reshape(-1))
        del x, logits
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        steps += 1
    return steps


def lora(torch, most):
    from torch import nn
    from torch.nn import functional as F
    from torch.utils.checkpoint import checkpoint
    Block = blocks(torch)
    width, depth = 2048, 16
    kind = {"device": "cuda", "dtype": torch.bfloat16}
    pick = random.Random(2)
    embed = nn.Embedding(VOCABULARY, width, **kind).requires_grad_(False)
    layers = nn.ModuleList([Block(width, 16, rank=16, **kind) for _ in range(depth)])
    norm = nn.LayerNorm(width, **kind).requires_grad_(False)
    parameters = [p for p in layers.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=1e-4)
    steps = 0
    while allocations(torch) < most:
        length = pick.randint(256, 2048)
        batch = pick.randint(1, max(1, 8192 // length))
        tokens = torch.randint(VOCABULARY, (batch, length + 1)).to("cuda")
        x = embed(tokens[:, :-1])
        for layer in layers:
            x = checkpoint(layer, x, use_reentrant=False)
        logits = F.linear(norm(x), embed.weight)
        loss = F.cross_entropy(logits.float().view(-1, VOCABULARY), tokens[:, 1:].reshape(-1))
        del x, logits
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        steps += 1
    return steps


def infer(torch, most):
    from torch import nn
    from torch.nn import functional as F
    Block = blocks(torch)
    width, depth, groups = 2048, 4, 6
    kind = {"device": "cuda", "dtype": torch.bfloat16}
    pick = random.Random(3)
    embed = nn.Embedding(VOCABULARY, width, **kind)
    layers = nn.ModuleList([Block(width, 16, **kind) for _ in range(depth)])
    norm = nn.LayerNorm(width, **kind)

    class Group:
        """Sequences that are generated together."""

        def __init__(self):
            self.last = torch.randint(VOCABULARY, (pick.randint(1, 64), pick.randint(32, 1024))).to("cuda")
            self.left = pick.randint(8, 64)
            self.caches = [[] for _ in layers]

        def step(self):
            x = embed(self.last)
            for layer, cache in zip(layers, self.caches):
                x = layer(x, cache)
            self.last = F.linear(norm(x[:, -1:]), embed.weight).argmax(dim=-1)
            self.left -= 1
            n = self.last.shape[0]
            if self.left % 16 == 0 and n > 1:  # some have ended
                keep = torch.tensor(sorted(pick.sample(range(n), (3 * n + 3) // 4)), device="cuda")
                self.last = self.last[keep]
                for cache in self.caches:
                    cache[:] = [t[keep] for t in cache]

    steps = 0
    with torch.inference_mode():
        running = [Group() for _ in range(groups)]
        while allocations(torch) < most:
            group = running.pop(0)
            group.step()
            running.append(group if group.left > 0 else Group())
            steps += 1
    return steps


def tiny(torch, most):
    side = torch.cuda.Stream()
    kept, pick = [], random.Random(4)
    while allocations(torch) < most:
        kept.append(torch.empty(pick.randint(1, 1 << 20), device="cuda"))
        with torch.cuda.stream(side):
            t = torch.zeros(1000, device="cuda")
        t.record_stream(torch.cuda.current_stream())
        del t
        if len(kept) > 5:
            kept.pop(pick.randrange(len(kept)))
    return len(kept)


WORKLOADS = {"train": (train, 30_000), "lora": (lora, 30_000), "infer": (infer, 30_000), "tiny": (tiny, 60)}


def main():
    args = argparse.ArgumentParser()
    args.add_argument("workload", choices=list(WORKLOADS))
    args.add_argument("trace")
    args.add_argument("--allocations", type=int, help="end with the step in which so many have been made")
    args.add_argument("--snapshot", help="write PyTorch's own snapshot too")
    args = args.parse_args()
    try:
        import torch
    except ImportError as e:
        sys.exit(f"torch_record.py: missing peer: {e}")
    if not torch.cuda.is_available():
        sys.exit("torch_record.py: missing peer: no CUDA device")
    run, most = WORKLOADS[args.workload]
    torch.manual_seed(1)
    torch.cuda.init()
    torch.cuda.memory._record_memory_history("all", context=None, stacks="python", max_entries=2_000_000)
    begin = time.perf_counter()
    steps = run(torch, args.allocations or most)
    torch.cuda.synchronize()
    took = time.perf_counter() - begin
    stats = torch.cuda.memory_stats()
    snapshot = torch.cuda.memory._snapshot()
    torch.cuda.memory._record_memory_history(None)
    events = trace_text.from_history(snapshot["device_traces"][0])
    trace_text.write(args.trace, "cuda:0", events)
    if args.snapshot:
        with open(args.snapshot, "wb") as f:
            pickle.dump(snapshot, f)
    print(f"torch: {torch.__version__}, {torch.cuda.get_device_name(0)}, {steps} steps in {took:.1f} s, "
          f"{stats['num_alloc_retries']} retries", file=sys.stderr)
    print(f"BenchmarkTraceRecorded/trace={trace_text.title(args.trace)}/pool=torch-native 1 {stats['reserved_bytes.all.peak']} reserved-B "
          f"{stats['requested_bytes.all.peak']} requested-B {len(events)} events {steps} steps", flush=True)


if __name__ == "__main__":
    main()
