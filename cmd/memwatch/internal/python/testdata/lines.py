# Prints line tables as a Python makes them, and the line of each instruction as it tells them itself.
import json
import sys

SOURCE = '''
import os
def f(a,
      b=1):
    x = [
        a,

        b]
    for i in range(3):
        if i: x.append(
            i)
    try:
        with open(os.devnull) as g:
            g.read()
    except (OSError,
            ValueError) as e:
        raise
    return (lambda: [y
        for y in x])
class C:
    def g(self):
        yield from self.h(
            1, *[2],
        )
    async def h(self, *a):
        async for z in a: await z
''' + "\n" * 300 + "def far(): return f(1)\n" + "long = [" + ", ".join("%d + len('')" % i for i in range(40)) + "]\n"


def codes(code):
    yield code
    for c in code.co_consts:
        if hasattr(c, "co_code"):
            yield from codes(c)


def lines(code):
    all = [0] * (len(code.co_code) // 2)
    for start, end, line in code.co_lines():
        for at in range(start // 2, end // 2):
            all[at] = line or 0
    return all


print(json.dumps([{
    "version": "%d.%d" % sys.version_info[:2], "name": c.co_qualname, "first": c.co_firstlineno,
    "table": c.co_linetable.hex(), "lines": lines(c),
} for c in codes(compile(SOURCE, "source.py", "exec"))]))
