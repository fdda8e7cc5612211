#!/usr/bin/env python3
"""Write small memory snapshots of the shape that torch.cuda.memory._dump_snapshot gives them, without PyTorch.

One in the protocol of today's Python, one in that of PyTorch's own pickler.
"""
import pathlib
import pickle

BASE = 0x7F3A40000000
SIDE = 0x55D0C8A91F30  # a stream's handle


def entry(action, at, size, time, stream=0, **more):
    e = {"action": action, "addr": BASE + at, "size": size, "stream": stream, "time_us": 1763760000000000 + time,
         "compile_context": "N/A", "user_metadata": "", "pool_id": (0, 0), "frames": []}
    e.update(more)
    return e


def block(at, size, requested, state):
    return {"address": BASE + at, "size": size, "requested_size": requested, "state": state, "frames": []}


frame = {"filename": "/train.py", "line": 12, "name": "step"}
oom = entry("oom", 0, 1 << 40, 60)
oom["device_free"] = oom.pop("addr")
history = [
    entry("free_requested", 0, 1000, 0),  # made before the history began
    entry("free_completed", 0, 1000, 0),
    entry("segment_alloc", 0x200000, 20 << 20, 5),
    entry("alloc", 0x200000, 3000000, 10, frames=[frame]),
    entry("alloc", 0, 700, 20, stream=SIDE, frames=[frame, {"filename": "??", "line": 0, "name": "at::empty"}]),
    entry("free_requested", 0x200000, 3000000, 30),
    entry("free_completed", 0x200000, 3000000, 31),
    entry("alloc", 0x200000, 4000000, 40),
    oom,
    entry("snapshot", 0, 0, 70),
]
snapshot = {
    "segments": [
        {"device": 0, "address": BASE, "total_size": 2 << 20, "allocated_size": 2048, "active_size": 2048, "requested_size": 1200,
         "stream": 0, "segment_type": "small", "segment_pool_id": (0, 0), "is_expandable": False, "frames": [],
         "blocks": [block(0, 1024, 700, "active_allocated"), block(1024, 512, 0, "inactive"),
                    block(1536, 1024, 600, "active_allocated"),  # made before the history began
                    block(2560, 512, 500, "active_pending_free"),
                    block(3072, (2 << 20) - 3072, 0, "inactive")]},
        {"device": 1, "address": BASE + (1 << 30), "total_size": 2 << 20, "allocated_size": 512, "active_size": 512,
         "requested_size": 512, "stream": 0, "segment_type": "small", "segment_pool_id": (0, 0), "is_expandable": True, "frames": [],
         "blocks": [block(1 << 30, 512, 512, "active_allocated")]},
    ],
    "device_traces": [history, []],
    "external_annotations": [],
    "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "garbage_collection_threshold": 0.0,
                           "expandable_segments": False, "roundup_power2_divisions": {"1": 0, "2": 0}},
}
here = pathlib.Path(__file__).parent
for protocol in (2, 5):
    (here / f"snapshot-{protocol}.pickle").write_bytes(pickle.dumps(snapshot, protocol))
