#!/usr/bin/env python3
"""Be CuPy's memory pool as a peer of bench/report, called from Python, whose calls are inside its times.

usage: cupy_peer.py
"""
import sys
import time

PAIRS = 1000
now = time.perf_counter_ns


class Peer:
    """Answers questions; see peer.hpp for what they are."""

    def __init__(self):
        import cupy
        self.cupy = cupy
        self.runtime = cupy.cuda.runtime
        self.about = f"cupy-memory {cupy.__version__}"
        self.runtime.memGetInfo()

    def free(self):
        return self.runtime.memGetInfo()[0]

    def streams(self, n):
        return [self.cupy.cuda.Stream(non_blocking=True) for _ in range(n)]

    def steps(self, q):
        with open(q["file"], encoding="ascii") as f:
            _, _, places, streams = f.readline().split()
            return [tuple(map(int, line.split())) for line in f], int(places), int(streams)

    def limit(self, q):
        steps, places, streams = self.steps(q)
        unit = 2 << 20
        rest = self.runtime.malloc((self.free() - int(q["free"])) // unit * unit)
        pool, on, done = self.cupy.cuda.MemoryPool(), self.streams(streams), 0
        held = [None] * places
        try:
            for place, stream, size in steps:
                with on[stream]:
                    held[place] = pool.malloc(size) if size >= 0 else None
                done += 1
        except self.cupy.cuda.memory.OutOfMemoryError:
            pass
        held.clear()
        pool.free_all_blocks()
        self.runtime.free(rest)
        return f"done={done / len(steps)}"

    def trace(self, q):
        steps, places, streams = self.steps(q)
        before = self.free()
        pool, on = self.cupy.cuda.MemoryPool(), self.streams(streams)
        several = len(on) > 1

        def play():
            held = [None] * places
            malloc = pool.malloc
            begin = now()
            if several:
                for place, stream, size in steps:
                    with on[stream]:
                        held[place] = malloc(size) if size >= 0 else None
            else:
                with on[0]:
                    for place, _, size in steps:
                        held[place] = malloc(size) if size >= 0 else None
            return (now() - begin) / len(steps)

        cold = play()
        play()
        ns, end = [], now() + int(q["ms"]) * 1_000_000
        while len(ns) < int(q["replays"]) and (not ns or now() < end):
            ns.append(f"{play():.1f}")
        reserved = pool.total_bytes()
        taken = before - self.free()
        pool.free_all_blocks()
        return f"cold={cold:.1f} ns={','.join(ns)} reserved={reserved} taken={taken}"

    def pair(self, q):
        sizes = [int(s) for s in q["sizes"].split(",")]
        if q["shape"] == "deep":
            return deep(60, lambda: self.pair(dict(q, shape="one")))
        pool, (stream,) = self.cupy.cuda.MemoryPool(), self.streams(1)
        live = [None] * (8 if q["shape"] == "live8" else 1)

        def a_round():
            malloc, n, many = pool.malloc, len(sizes), len(live)
            if many == 1 and n == 1:
                size = sizes[0]
                for _ in range(PAIRS):
                    malloc(size)  # dropped at once, which frees it
            elif many == 1:
                for i in range(PAIRS):
                    malloc(sizes[i % n])
            else:
                for i in range(PAIRS):
                    live[i % many] = None
                    live[i % many] = malloc(sizes[i % n])

        with stream:
            a_round()
            n, begin = 0, now()
            while now() - begin < int(q["ms"]) * 1_000_000:
                a_round()
                n += PAIRS
            took = now() - begin
            live.clear()
        pool.free_all_blocks()
        return f"ns={took / n:.2f} n={n}"

    def first(self, q):
        before, (stream,) = self.free(), self.streams(1)
        with stream:
            t0 = now()
            pool = self.cupy.cuda.MemoryPool()
            t1 = now()
            p = pool.malloc(int(q["size"]))
            t2 = now()
            a = f"ns={t2 - t1} new={t1 - t0} reserved={pool.total_bytes()} taken={before - self.free()}"
            del p
        pool.free_all_blocks()
        return a


def deep(n, f):
    return f() if n == 0 else deep(n - 1, f)


def main():
    try:
        peer = Peer()
    except Exception as e:  # a missing package, driver or device are all a missing peer
        print("error", str(e).strip().splitlines()[-1], flush=True)
        sys.exit(1)
    print("ok", peer.about, flush=True)
    for line in sys.stdin:
        word, *rest = line.split()
        try:
            if word not in ("trace", "limit", "pair", "first"):
                raise ValueError(f"it does not answer {word}")
            print("ok", getattr(peer, word)(dict(x.split("=", 1) for x in rest)), flush=True)
        except Exception as e:
            print("error", str(e).strip().splitlines()[-1], flush=True)


if __name__ == "__main__":
    main()
