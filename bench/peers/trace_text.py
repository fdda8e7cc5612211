"""Reads and writes traces in the form of bench/trace, and makes them of PyTorch's histories.

    lastuse.trace.v1 "cuda:0"
    m nanoseconds stream address bytes
    f nanoseconds stream address
"""
import gzip
import os

HEAD = "lastuse.trace.v1"


def opened(name, mode):
    """Open a file for text, compressed if its name says so."""
    if not name.endswith(".gz"):
        return open(name, mode)
    if mode == "w":
        # No name and no date in it: the same trace gives the same bytes.
        return _Closing(gzip.GzipFile("", "wb", 9, open(name, "wb"), mtime=0))
    return gzip.open(name, "rt")


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
    with opened(name, "w") as f:
        f.write(f'{HEAD} "{device}"\n')
        for free, at, stream, address, size in events:
            f.write(f"f {at} {stream} {address:x}\n" if free else f"m {at} {stream} {address:x} {size}\n")


def steps(name):
    """Read a trace as steps for a replay: lists of places, streams and bytes, where -1 is a free; how many places there
    are, and the most bytes that are live at one time. What is left live is freed at the end, in the order in which it was made."""
    places, streams, sizes = [], [], []
    live, spare, count = {}, [], 0
    now = peak = 0
    with opened(name, "r") as f:
        if f.readline().split(" ")[0] != HEAD:
            raise ValueError(f"{name}: it does not begin with {HEAD}")
        for number, line in enumerate(f, 2):
            fields = line.split()
            if fields[0] == "m" and len(fields) == 5 and fields[3] not in live:
                if spare:
                    place = spare.pop()
                else:
                    place, count = count, count + 1
                size = int(fields[4])
                live[fields[3]] = (place, int(fields[2]), size)  # in order: a key that comes again is new
                now += size
                peak = max(peak, now)
                places.append(place), streams.append(int(fields[2])), sizes.append(size)
            elif fields[0] == "f" and len(fields) == 4 and fields[3] in live:
                place, _, size = live.pop(fields[3])
                spare.append(place)
                now -= size
                places.append(place), streams.append(int(fields[2])), sizes.append(-1)
            else:
                raise ValueError(f"{name}:{number}: {line.strip()}")
    for place, stream, _ in live.values():
        places.append(place), streams.append(stream), sizes.append(-1)
    return places, streams, sizes, count, peak
