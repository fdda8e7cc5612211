# Allocates through a library of C in all the ways that a Python program gets there. Each allocation has a size
# of its own, and is freed at once.
import ctypes
import sys
import threading

lib = ctypes.CDLL(sys.argv[1])
out = ctypes.c_uint64()


def make(size):
    lib.cuMemAlloc_v2(ctypes.byref(out), ctypes.c_size_t(size))
    lib.cuMemFree_v2(out)


def plain():
    make(1001)


def lines(n):
    x = [
        n,
        make(1002),
        n,
    ]
    return x


def generator():
    for size in (1003, 1004):
        make(size)
        yield size


class Model:
    def forward(self):
        return [make(size) for size in (1005,)]

    __call__ = forward


def back(a, b):
    make(1006)
    return 0


def through_c():
    # qsort of the C library calls back into Python.
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(back)
    array = (ctypes.c_int * 2)(2, 1)
    ctypes.CDLL(None).qsort(array, 2, 4, compare)


def recurse(n):
    if n:
        recurse(n - 1)
    else:
        make(1007)


def dynamic(i):
    # Code objects that come and go, most often to where the one before was.
    source = "\n" * i + "make(%d)\n" % (2000 + i)
    exec(compile(source, "/made/up/step%d.py" % (i % 7), "exec"), {"make": make})


def named(i):
    scope = {"make": make}
    exec("def f%d():\n    make(%d)\n" % (i % 5, 3000 + i), scope)
    scope["f%d" % (i % 5)]()


def späte_größe():
    make(1008)


def run():
    plain()
    lines(0)
    for _ in generator():
        pass
    Model()()
    through_c()
    recurse(300)
    späte_größe()
    for i in range(20):
        dynamic(i)
        named(i)


print("ready", flush=True)
for command in sys.stdin:
    if command == "thread\n":
        t = threading.Thread(target=plain)
        t.start()
        t.join()
    elif command == "run\n":
        run()
    else:
        for _ in range(int(command)):
            plain()
    print("done", flush=True)
