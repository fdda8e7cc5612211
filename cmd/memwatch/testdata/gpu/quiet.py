# Measures what is promised for a machine that does nothing else, in about three minutes. On a machine with a GPU, PyTorch
# and gcc, as root, in the root of the repository:
#
#   mkdir -p .build/gpu && go build -o .build/gpu/ ./cmd/memwatch
#   for p in bpf live; do go test -c -tags long -o .build/gpu/$p.test ./cmd/memwatch/internal/$p; done
#   python3 cmd/memwatch/testdata/gpu/quiet.py .build/gpu
import fcntl, os, pty, select, struct, subprocess, sys, termios, time
B = os.path.abspath(sys.argv[1])
HERE = os.path.abspath(os.path.dirname(__file__))
ROOT = os.path.abspath(HERE + "/../../../..")
OUT = os.environ.get("OUT", "/tmp")
SHORT = "short" in sys.argv
def title(s): print("\n== " + s, flush=True)
def sh(cmd, timeout=200, **k):
    r = subprocess.run(cmd, shell=isinstance(cmd, str), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout, **k)
    return r.stdout.strip()
def test(name, *args):
    out = sh([B + "/" + name + ".test", "-test.v", *args], cwd=ROOT + "/cmd/memwatch/internal/" + name)
    print("\n".join(l for l in out.splitlines() if not l.startswith(("=== RUN", "=== PAUSE", "=== CONT"))), flush=True)
# look runs memwatch in a terminal of some size, and returns when it first showed a word and all that it wrote.
def look(cols, rows, seconds, word, *args):
    begin = time.time()
    pid, fd = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm-256color", COLORTERM="truecolor")
        os.execv(B + "/memwatch", ["memwatch", *args])
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
    got, first = b"", None
    while time.time() < begin + seconds:
        if select.select([fd], [], [], 0.05)[0]:
            got += os.read(fd, 1 << 16)
            if first is None and word in got: first = time.time() - begin
    os.kill(pid, 15)
    while True:
        try:
            if not os.read(fd, 1 << 16): break
        except OSError: break
    os.waitpid(pid, 0)
    return first, got

title("machine")
print(sh("uname -r; nproc; lscpu | grep 'Model name'; nvidia-smi --query-gpu=name,driver_version --format=csv,noheader; uptime"))
title("memwatch check"); print(sh([B + "/memwatch", "check"]))
title("first output, seconds: the terminal page, a stream of JSON (three times each)")
for name, do in (("page", lambda: look(100, 30, 3, b"PROCESS")[0]),):
    print("  ", name, ["%.2f" % (do() or -1) for _ in range(3)])
for _ in range(3):
    t = time.time()
    p = subprocess.Popen([B + "/memwatch", "-driver", "-o", "jsonl"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    p.stdout.readline()
    print("   jsonl %.2f" % (time.time() - t))
    p.kill(); p.wait()
title("a probed call over empty probes, a driver that costs nothing")
test("bpf", "-test.run", "TestCost", "-cost.strict", "-cost.seconds", "1" if SHORT else "4", "-cost.events", "20000" if SHORT else "400000")
lib = next((l for l in ("/usr/lib/libcuda.so.1", "/usr/lib/x86_64-linux-gnu/libcuda.so.1", "/usr/lib64/libcuda.so.1") if os.path.exists(l)), None)
if lib:
    title("the same, of the GPU's driver")
    for _ in range(3): test("bpf", "-test.run", "TestCost", "-cost.seconds", "2", "-cost.real", lib)
title("400,000 events a second among 5,000 processes")
test("live", "-test.run", "TestCrowd", *(["-crowd.processes", "200", "-crowd.seconds", "2"] if SHORT else ["-crowd.strict", "-crowd.processes", "5000", "-crowd.seconds", "60", "-crowd.events", "400000"]))
title("idle among 1,000 processes")
test("live", "-test.run", "TestCrowd", "-crowd.processes", "100" if SHORT else "1000", "-crowd.seconds", "2" if SHORT else "20")
title("20,000 allocations a second whose stacks take tables")
test("live", "-test.run", "TestFramelessRate", "-rate.strict", "-rate.seconds", "1" if SHORT else "3")
if lib:
    title("a training, the terminal page at three sizes")
    train = subprocess.Popen([sys.executable, HERE + "/train.py", "25"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(9)
    for cols, rows in ((60, 24), (80, 24), (200, 50)):
        first, got = look(cols, rows, 4, b"PROCESS")
        open("%s/page-%d.raw" % (OUT, cols), "wb").write(got)
    print(sh([B + "/memwatch", "-driver", "-once", "-o", "wide"]))
    print(sh("nvidia-smi"))
    train.wait()
