# Compares the blocks that memwatch sees of PyTorch's allocator with what that says itself, times a training with and
# without them, and looks for the line of it that leaks. As root, on a machine with a GPU and PyTorch, in about 80 s:
#
#   CGO_ENABLED=0 go build ./cmd/memwatch && python3 cmd/memwatch/testdata/gpu/blocks.py ./memwatch
import json, os, re, subprocess, sys, threading, time
HERE = os.path.dirname(os.path.abspath(__file__))
MEMWATCH = os.path.abspath(sys.argv[1])


def title(s): print("\n== " + s, flush=True)


def block(process, field): return next((c[field] for c in process["classes"] if c["class"] == "block"), 0)


title("the allocator's own figures beside memwatch's, a training among them")
program = subprocess.Popen([sys.executable, HERE + "/torch_prog.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
program.stdout.readline()
watch = subprocess.Popen([MEMWATCH, "-p", str(program.pid), "-driver", "-o", "jsonl", "-d", "250ms", "-top", "0"],
                         stdout=subprocess.PIPE, text=True)
seen = []
threading.Thread(target=lambda: [seen.append(l) for l in watch.stdout], daemon=True).start()
while not seen: time.sleep(0.05)
for step in ("warm", "alloc 64 32 100 7", "drop 2", "empty", "alloc 500 3 3 3", "train", "train", "drop 2", "empty"):
    program.stdin.write(step + "\n"); program.stdin.flush()
    own = json.loads(program.stdout.readline())
    n = len(seen)
    while len(seen) < n + 4: time.sleep(0.05)
    p = json.loads(seen[-1])["processes"][0]
    live = block(p, "live")
    print("   %-20s allocated %11d, memwatch %11d %s   blocks ever %d   lost %s" % (
        step, own["allocated"], live, "EQUAL" if live == own["allocated"] else "DIFFERENT", block(p, "allocObjects"), p["lost"]), flush=True)
program.stdin.close(); program.wait(); watch.terminate(); watch.wait()


def train(*flags):
    cmd = [sys.executable, HERE + "/train.py", "5"]
    if flags: cmd = [MEMWATCH, "run", "-o", "json", "-top", "0", *[f for f in flags if f != "watched"], "--", *cmd]
    r = subprocess.run(cmd, capture_output=True, text=True, timeout=120)
    print("   %-24s %s" % (" ".join(flags) or "bare", re.findall("steps.*", r.stderr)), flush=True)
    return json.loads(r.stdout[r.stdout.index("{"):])["processes"][0] if flags else None


title("a small training whose processor keeps up with nothing else, in turn: milliseconds a step")
for _ in range(3):
    train(); train("watched", "-no-blocks"); p = train("watched")
title("its blocks by site, at rows named by a line of the program where a frame of Python is known")
sites = [s for s in p["sites"] if s["class"] == "block"]
python = [s for s in sites if any(f.get("module", "").startswith("Python-") for f in s["frames"])]
named = [s for s in python if "train.py:" in s["title"]]
total = lambda all: sum(s["allocBytes"] for s in all)
print("   %d blocks in %d sites, lost %s, inexact %s" % (sum(s["allocObjects"] for s in sites), len(sites), p["lost"], p["inexact"]))
print("   %.1f %% of their bytes on threads with a frame of Python; of these %.2f %% at rows named by a line of train.py" % (
    100 * total(python) / max(total(sites), 1), 100 * total(named) / max(total(python), 1)))
for s in sorted(sites, key=lambda s: -s["atExitBytes"])[:3]:
    print("   %11d bytes at its exit, %d blocks: %s   %s" % (s["atExitBytes"], s["atExitObjects"], s["title"].replace(HERE + "/", "")[:90], s["suspect"]))
title("what is suspected of all: every class")
for s in p["sites"]:
    if s["suspect"]: print("   %-9s %s   %s" % (s["class"], s["title"].replace(HERE + "/", "")[:90], s["suspect"]))
