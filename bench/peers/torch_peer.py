#!/usr/bin/env python3
"""Be PyTorch's caching allocator as a peer of bench/report. All that is timed is C++: torch_peer.cpp.

usage: torch_peer.py native|expandable|async|build [FOLDER]

build only compiles it, into the folder; the others take what is there, and compile it if nothing is.
"""
import faulthandler
import importlib.util
import os
import sys

NAME = "lastuse_torch_peer"

SETTINGS = {
    "native": "",
    "build": "",
    "expandable": "expandable_segments:True",
    "async": "backend:cudaMallocAsync",
}


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[1] not in SETTINGS:
        sys.exit(__doc__)
    kind = sys.argv[1]
    faulthandler.enable()  # what ends in C++ says where
    if SETTINGS[kind]:
        # Read once, when torch first touches the device; newer releases know it by the second name.
        os.environ["PYTORCH_CUDA_ALLOC_CONF"] = os.environ["PYTORCH_ALLOC_CONF"] = SETTINGS[kind]
    os.environ.setdefault("TORCH_CUDA_ARCH_LIST", "9.0")
    here = os.path.dirname(os.path.abspath(__file__))
    try:
        import torch
        from torch.utils.cpp_extension import load_inline
        with open(os.path.join(here, "torch_peer.cpp"), encoding="utf-8") as f:
            source = f.read()
        folder = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else None
        built = folder and os.path.join(folder, NAME + ".so")
        if built and kind != "build" and os.path.exists(built):
            spec = importlib.util.spec_from_file_location(NAME, built)
            loops = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(loops)
        else:
            loops = load_inline(NAME, source, functions=["answer"], with_cuda=True, verbose=False,
                                extra_cflags=["-O3", "-g", "-fvisibility=hidden"], extra_include_paths=[here],
                                build_directory=folder if kind == "build" else None)
        if kind == "build":
            return
        torch.cuda.init()
        torch.zeros(1, device="cuda")
    except Exception as e:  # whatever is missing, the peer is
        print("error", str(e).strip().splitlines()[-1], flush=True)
        raise
    print(f"ok torch-{kind} {torch.__version__} {torch.cuda.get_allocator_backend()}", flush=True)
    for line in sys.stdin:
        print(loops.answer(line.strip()), flush=True)


if __name__ == "__main__":
    main()
