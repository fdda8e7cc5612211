# Traces train.py with memwatch and prints which share of the bytes is at rows named by a line of it. As root, on a
# machine with a GPU and PyTorch; it takes about 90 s, and keeps the JSON of each run in $OUT:
#
#   CGO_ENABLED=0 go build ./cmd/memwatch && python3 cmd/memwatch/testdata/gpu/python.py ./memwatch
import json, os, subprocess, sys, tempfile
HERE = os.path.dirname(os.path.abspath(__file__))
MEMWATCH = os.path.abspath(sys.argv[1])
OUT = os.environ.get("OUT") or tempfile.mkdtemp()
PROGRAM = [sys.executable, HERE + "/train.py", "4"]


def environment(cache):
    """Without PyTorch's own allocator each block is a call of the driver."""
    return dict(os.environ) if cache else dict(os.environ, PYTORCH_NO_CUDA_MEMORY_CACHING="1")


def run(cmd, cache):
    return subprocess.run(cmd, env=environment(cache), capture_output=True, text=True, timeout=120)


def python(site):
    return any(f.get("module", "").startswith("Python-") for f in site["frames"])


def watched(name, cache, *flags):
    r = run([MEMWATCH, "run", "-o", "json", "-top", "0", *flags, "--", *PROGRAM], cache)
    print("\n== %s, cache %s, %s: exit %d: %s" % (name, cache, " ".join(flags), r.returncode, r.stderr.strip()[-600:]))
    with open("%s/%s.json" % (OUT, name), "w") as f:
        f.write(r.stdout)
    process = json.loads(r.stdout[r.stdout.index("{"):])["processes"][0]
    sites = [s for s in process["sites"] if s["own"]]
    total = sum(s["allocBytes"] for s in sites)
    framed = sum(s["allocBytes"] for s in sites if python(s))
    named = sum(s["allocBytes"] for s in sites if python(s) and "train.py:" in s["title"])
    print("   bytes %d in %d sites (%d allocations); on threads with a Python frame %.2f %%" % (
        total, len(sites), sum(s["allocObjects"] for s in sites), 100 * framed / max(total, 1)))
    print("   of these at rows named by a line of train.py: %.2f %%   (at other rows %d bytes)" % (
        100 * named / max(framed, 1), framed - named))
    print("   lost %s, inexact %s, kernel %s" % (process["lost"], process["inexact"], process["kernel"]))
    rows = {}
    for s in sites:
        rows[s["title"]] = rows.get(s["title"], 0) + s["allocBytes"]
    for title, n in sorted(rows.items(), key=lambda r: -r[1])[:14]:
        print("   %14d  %s" % (n, title.replace(HERE + "/", "")), flush=True)


print(subprocess.run("nvidia-smi --query-gpu=name,driver_version --format=csv,noheader", shell=True, capture_output=True,
                     text=True).stdout.strip())
for cache in True, False:
    print("bare, cache %s: %s" % (cache, run(PROGRAM, cache).stderr.strip()[-300:]), flush=True)
watched("auto-cache", True)
watched("auto", False)
watched("fp", False, "-stacks", "fp")
watched("nostacks", False, "-no-stacks")
