import gc, json, sys, torch
def say():
    torch.cuda.synchronize()
    s = torch.cuda.memory_stats()
    print(json.dumps({"reserved": s["reserved_bytes.all.current"], "allocated": s["allocated_bytes.all.current"]}), flush=True)
print("ready", flush=True)
keep = []
for line in sys.stdin:
    w = line.split()
    if w[0] == "warm":
        a = torch.randn(512, 512, device="cuda"); b = a @ a; del a, b
    elif w[0] == "alloc":
        keep += [torch.empty(int(x) << 20, dtype=torch.uint8, device="cuda") for x in w[1:]]
    elif w[0] == "drop":
        for _ in range(int(w[1])): keep.pop()
    elif w[0] == "empty":
        gc.collect(); torch.cuda.empty_cache()
    elif w[0] == "train":
        m = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.ReLU(), torch.nn.Linear(4096, 1024)).cuda()
        o = torch.optim.Adam(m.parameters())
        for _ in range(20):
            o.zero_grad(); m(torch.randn(256, 1024, device="cuda")).square().mean().backward(); o.step()
        keep.append((m, o))
    say()
