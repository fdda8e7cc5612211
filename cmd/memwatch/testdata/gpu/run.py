# Watches an unmodified PyTorch program and Go programs of this repository at once and compares memwatch's figures with
# their own. On a machine with a GPU, PyTorch, gcc and Go, as root, in the root of the repository:
#
#   mkdir -p .build/gpu && for p in ./cmd/memwatch ./cmd/memwatch/testdata/pooler ./cmd/memwatch/testdata/pairs ./examples/repl
#   do go build -o .build/gpu/ $p; done
#   go test -c -o .build/gpu/memwatch.test ./cmd/memwatch && go test -c -o .build/gpu/bpf.test ./cmd/memwatch/internal/bpf
#   python3 cmd/memwatch/testdata/gpu/run.py .build/gpu
#
# It takes about five minutes; "nogpu" behind it leaves out what needs a GPU.
import json, os, subprocess, sys, tempfile, threading, time
B = os.path.abspath(sys.argv[1])
HERE = os.path.abspath(os.path.dirname(__file__))
MW = B + "/memwatch"
OUT = os.environ.get("OUT", tempfile.mkdtemp())
NOGPU = "nogpu" in sys.argv
def sh(cmd, timeout=300, **k):
    r = subprocess.run(cmd, shell=isinstance(cmd, str), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout, **k)
    return r.stdout
def title(s): print("\n== " + s, flush=True)
class Prog:
    def __init__(self, *cmd):
        self.p = subprocess.Popen(cmd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self.p.pid
    def line(self): return self.p.stdout.readline().strip()
    def do(self, s):
        self.p.stdin.write(s + "\n"); self.p.stdin.flush(); return self.line()
class Watch:
    def __init__(self, *args):
        self.last, self.n = None, 0
        self.p = subprocess.Popen([MW, "-driver", "-o", "jsonl", "-d", "250ms", "-top", "0", *args], stdout=subprocess.PIPE, stderr=open(OUT + "/memwatch.err", "a"), text=True)
        threading.Thread(target=self.read, daemon=True).start()
    def read(self):
        for l in self.p.stdout: self.last = json.loads(l); self.n += 1
    def get(self, pid):
        n = self.n
        while self.n < n + 6: time.sleep(0.05)
        for p in self.last["processes"]:
            if p["pid"] == pid: return p
        return None
    def cpu(self):
        f = open("/proc/%d/stat" % self.p.pid).read().rsplit(")", 1)[1].split()
        return (int(f[11]) + int(f[12])) / os.sysconf("SC_CLK_TCK")
    def stop(self): self.p.terminate(); self.p.wait()
def cls(p, name, field="live"):
    return next((c[field] for c in p["classes"] if c["class"] == name), 0) if p else None
def smi():
    got = {}
    for l in sh("nvidia-smi --query-compute-apps=pid,used_gpu_memory --format=csv,noheader,nounits").splitlines():
        try: a, b = l.split(","); got[int(a)] = int(b)
        except ValueError: print("   nvidia-smi says:", l)
    return got
title("machine"); print(sh("uname -r; nproc; lscpu | grep 'Model name'; nvidia-smi --query-gpu=name,driver_version --format=csv,noheader"))
title("memwatch check (attach time of each library, cost of a marker)"); print(sh([MW, "check"]))
if not NOGPU:
    title("cuMemAllocAsync + cuMemFreeAsync of 1 MiB, ns a pair, five rounds of 100,000; then a quiet bystander")
    print(sh("gcc -O2 -o %s/pair %s/pair.c -I/usr/local/cuda/include -L/usr/local/cuda/lib64/stubs -lcuda 2>&1 || nvcc -O2 -o %s/pair %s/pair.c -lcuda" % (OUT, HERE, OUT, HERE)))
    a, b = Prog(OUT + "/pair"), Prog(OUT + "/pair")
    a.line(); b.line()
    rounds = lambda p: sorted(float(p.do("go")) for _ in range(5))
    rows = [("bare", rounds(a))]
    for name, args in (("watched, stacks", []), ("watched, no stacks", ["-no-stacks"])):
        w = Watch("-p", str(a.pid), *args); time.sleep(1.5)
        rows.append((name, rounds(a)))
        rows.append(("bystander of the same library while another is watched with -p", rounds(b)))
        c = w.cpu(); t = time.time(); r = rounds(a); print("   memwatch's own CPU while 1 thread calls without a pause: %.2f cores; lost %d" % ((w.cpu() - c) / (time.time() - t), w.last["lost"]))
        w.stop(); time.sleep(1)
        rows.append(("bare again", rounds(a)))
    for n, r in rows: print("   %-64s median %.0f  all %s" % (n, r[2], r))
    a.p.stdin.close(); b.p.stdin.close()
    title("one command line: an unmodified PyTorch program, a Go program with its own figures, and examples/repl")
    t, g, r = Prog(sys.executable, HERE + "/torch_prog.py"), Prog(B + "/pooler", "-cuda"), Prog("stdbuf", "-oL", B + "/repl", "-steps", "0")
    print("   torch:", t.line())
    g.do("more")                                    # both Go programs have their contexts
    print("   repl:", r.line(), "|", r.do("set 5"))
    time.sleep(1)
    w = Watch("-p", "%d,%d,%d" % (t.pid, g.pid, r.pid)); time.sleep(2)
    base = {}
    for step in ("warm", "alloc 64 32 100 7", "drop 2", "empty", "alloc 500 3 3 3", "train", "train", "drop 2", "empty"):
        own = json.loads(t.do(step)); pool = json.loads(g.do("more"))
        p = w.get(t.pid); q = w.get(g.pid); s = smi().get(t.pid)
        mine = sum(x["live"] for x in p["sites"] if x["own"] and any("c10_cuda" in f.get("module", "") for f in x["frames"]))
        other = p["live"] - mine
        over = s - p["live"] / 2**20 if s is not None else None
        base.setdefault("over", over)
        print("   %-20s torch reserved %11d  memwatch, sites of c10 %11d  %s   others (cuBLAS) %d   nvidia-smi - memwatch %s MiB" % (
            step, own["reserved"], mine, "EQUAL" if mine == own["reserved"] else "DIFFERENT", other, over and round(over, 1)))
        print("   %-20s pool live %d reserved %d  memwatch table live %s  %s   driver's physical since watching %s" % (
            "", pool["Live"], pool["Reserved"], cls(q, "buffer"), "EQUAL" if cls(q, "buffer") == pool["Live"] else "DIFFERENT", cls(q, "physical")))
    e = w.get(r.pid); print("   repl: memwatch table live %s objects %s" % (cls(e, "buffer"), cls(e, "buffer", "objects")))
    print("   lost %d, unknown frees of torch %d, memwatch CPU %.2f s" % (w.last["lost"], p["unknown"]["frees"], w.cpu()))
    json.dump(w.last, open(OUT + "/both.json", "w"))
    w.stop()
    print(sh([MW, "-p", "%d,%d,%d" % (t.pid, g.pid, r.pid), "-driver", "-once"]))
    title("the same Go program from its first call: reserved of the pool against the driver's physical memory")
    g2 = subprocess.Popen([MW, "run", "-o", "json", "--", B + "/pooler", "-cuda"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    out, err = g2.communicate("more\nmore\nmore\n", timeout=60)
    lines = out.splitlines(); last = json.loads(lines[2]); doc = json.loads("\n".join(lines[3:]))
    q = doc["processes"][0]
    print("   pool's own: reserved %d made %d; memwatch: physical peak %d, made %d, late %s, at exit %d %s" % (last["Reserved"], last["Made"], cls(q, "physical", "peak"), cls(q, "buffer", "allocObjects"), q["freedLate"], q["atExit"], err.strip()))
    for x in (t, g, r): x.p.stdin.close()
title("a program that is polled: Make+Free"); print(sh([B + "/memwatch.test", "-test.run", "TestPolledCost", "-test.v", "-polled.strict", "-polled.rounds", "10", "-polled.program", B + "/pairs"], cwd="cmd/memwatch"))
title("storm: 1,000,000 calls, 100 stops, four threads"); print(sh([B + "/bpf.test", "-test.run", "TestStorm", "-test.v", "-storm.calls", "1000000"], cwd="cmd/memwatch/internal/bpf", timeout=250))
title("400,000 events a second for 60 s"); print(sh([B + "/bpf.test", "-test.run", "TestCost", "-test.v", "-cost.strict", "-cost.seconds", os.environ.get("SECONDS_", "60"), "-cost.events", "400000"], cwd="cmd/memwatch/internal/bpf", timeout=250))
