"""Writes traces in the form of bench/trace, and makes them of PyTorch's histories.

    lastuse.trace.v1 "cuda:0"
    m nanoseconds stream address bytes
    f nanoseconds stream address
"""
import gzip
import os

HEAD = "lastuse.trace.v1"


def opened(name):
    """Open a file to write text to it, compressed if its name says so."""
    if not name.endswith(".gz"):
        return open(name, "w")
    # No name and no date in it: the same trace gives the same bytes.
    return _Closing(gzip.GzipFile("", "wb", 9, open(name, "wb"), mtime=0))


class _Closing:
    """A compressed file that takes text and closes what it writes to."""

    def __init__(self, z):
        self.z = z

    def write(self, text):
        self.z.write(text.encode())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        inner = self.z.fileobj
        self.z.close()
        inner.close()


def title(name):
    """What a trace is called: its file's name up to the first point."""
    return os.path.basename(name).split(".")[0]


def from_history(history):
    """Return the events of a history of PyTorch's, as (free?, ns, stream, address, bytes), from its entries.

    The history must begin with the program: what it frees without having made it is left out.
    """
    events, live, streams, begin = [], set(), {}, None
    for e in history:
        action = e["action"]
        if action not in ("alloc", "free_requested"):
            continue
        if begin is None:
            begin = e["time_us"]
        address, free = e["addr"], action == "free_requested"
        if free != (address in live):
            continue
        (live.discard if free else live.add)(address)
        stream = streams.setdefault(e["stream"], len(streams))
        events.append((free, max(0, e["time_us"] - begin) * 1000, stream, address, e["size"]))
    return events


def write(name, device, events):
    """Write events to a file."""
    with opened(name) as f:
        f.write(f'{HEAD} "{device}"\n')
        for free, at, stream, address, size in events:
            f.write(f"f {at} {stream} {address:x}\n" if free else f"m {at} {stream} {address:x} {size}\n")
