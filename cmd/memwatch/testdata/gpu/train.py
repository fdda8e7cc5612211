# A small training of PyTorch for as many seconds as it is told: attention, a backward pass of its own, a leak.
import sys, time, torch
from torch import nn

class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm, self.attend = nn.LayerNorm(d), nn.MultiheadAttention(d, 4, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x):
        y = self.norm(x)
        x = x + self.attend(y, y, y, need_weights=False)[0]
        return x + self.mlp(x)

class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2 + torch.zeros_like(x)

class Model(nn.Module):
    def __init__(self, d=256, n=4):
        super().__init__()
        self.embed, self.blocks, self.head = nn.Embedding(1000, d), nn.ModuleList(Block(d) for _ in range(n)), nn.Linear(d, 1000)

    def forward(self, t):
        x = self.embed(t)
        for b in self.blocks:
            x = b(x)
        return self.head(Scale.apply(x))

def main(seconds):
    torch.manual_seed(0)
    model = Model().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    kept, steps = [], 0
    begin = time.time()
    for _ in range(3):
        step(model, optimizer)
    torch.cuda.synchronize()
    start = time.time()
    while time.time() - start < seconds:
        loss = step(model, optimizer)
        if steps % 8 == 0:
            kept.append(torch.empty(1 << 20, device="cuda"))  # the leak
        steps += 1
    torch.cuda.synchronize()
    took = time.time() - start
    print("steps %d, ms a step %.3f, loss %.3f, peak %d MiB" % (steps, 1000 * took / steps, loss, torch.cuda.max_memory_reserved() >> 20), file=sys.stderr, flush=True)

def step(model, optimizer):
    t = torch.randint(0, 1000, (16, 128), device="cuda")
    loss = nn.functional.cross_entropy(model(t).flatten(0, 1), t.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()

if __name__ == "__main__":
    main(float(sys.argv[1]))
