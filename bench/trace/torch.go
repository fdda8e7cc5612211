package trace

import (
	"fmt"
	"io"
	"time"
)

// ReadTorch reads what happened on one device from a memory snapshot of PyTorch's, the pickle that
// torch.cuda.memory._dump_snapshot writes after _record_memory_history. Sizes are those that were asked for. A free is where the
// program asked for it: PyTorch may have kept the block longer, until other streams were done with it. Streams are
// numbered in the order in which they first come.
//
// A history may have begun late, or have lost its oldest entries. What it frees without having made it, and what the
// snapshot shows as live that it did not make, was live when it began: that is made at the trace's beginning. Only what had been
// freed before, and what other streams still used when the snapshot was taken, is not in the trace.
func ReadTorch(r io.Reader, device int) (*Trace, error) {
	data, err := unpickle(r)
	if err != nil {
		return nil, fmt.Errorf("trace: torch: %w", err)
	}
	s, _ := data.(map[string]any)
	all, _ := s["device_traces"].(*list)
	if all == nil {
		return nil, fmt.Errorf("trace: torch: the pickle is no memory snapshot: it has no device_traces")
	}
	if device < 0 || device >= len(all.items) {
		return nil, fmt.Errorf("trace: torch: device %d of %d", device, len(all.items))
	}
	history, _ := all.items[device].(*list)
	if history == nil {
		return nil, fmt.Errorf("trace: torch: device %d has no list of events", device)
	}
	t := torchReader{streams: map[int64]int{}}
	t.Device = fmt.Sprintf("cuda:%d", device)
	if err := t.before(history, s["segments"], int64(device)); err != nil {
		return nil, fmt.Errorf("trace: torch: %w", err)
	}
	for i, x := range history.items {
		if err := t.event(x); err != nil {
			return nil, fmt.Errorf("trace: torch: event %d: %w", i, err)
		}
	}
	return &t.Trace, nil
}

// A torchReader turns a history into events.
type torchReader struct {
	builder
	streams map[int64]int
	begin   int64 // microseconds
	begun   bool
}

// entry is what all kinds of records have.
type entry map[string]any

// integer returns a number of the record.
func (e entry) integer(key string) (int64, error) {
	x, ok := e[key].(int64)
	if !ok {
		return 0, fmt.Errorf("%s is no integer", key)
	}
	return x, nil
}

// stream returns the number of a stream, a handle in PyTorch's records.
func (t *torchReader) stream(handle int64) (int, error) {
	n, ok := t.streams[handle]
	if !ok {
		if n = len(t.streams); n >= maxStream {
			return 0, fmt.Errorf("more than %d streams", maxStream)
		}
		t.streams[handle] = n
	}
	return n, nil
}

// event adds an event of the history, if it is an allocation or a free.
func (t *torchReader) event(x any) error {
	d, ok := x.(map[string]any)
	if !ok {
		return fmt.Errorf("it is no dict")
	}
	r := entry(d)
	var e Event
	switch r["action"] {
	case "alloc":
	case "free_requested":
		e.Free = true
	case "oom":
		t.Skipped++
		return nil
	default: // segments, completed frees, snapshots, notes
		return nil
	}
	at, err := r.integer("time_us")
	if err != nil && r["time_us"] != nil {
		return err // snapshots of old versions have no times
	}
	if !t.begun {
		t.begin, t.begun = at, true
	}
	e.At = max(0, time.Duration(at-t.begin)*time.Microsecond)
	return t.block(e, r, "addr", "size")
}

// block adds an event whose address and size are in a record.
func (t *torchReader) block(e Event, r entry, address, size string) error {
	p, err := r.integer(address)
	if err != nil {
		return err
	}
	if e.Size, err = r.integer(size); err != nil {
		return err
	}
	if e.Size < 0 {
		return fmt.Errorf("%d bytes", e.Size)
	}
	handle, err := r.integer("stream")
	if err != nil {
		return err
	}
	if e.Stream, err = t.stream(handle); err != nil {
		return err
	}
	e.Ptr = uint64(p)
	t.add(e)
	return nil
}

// before adds what was live when the history began.
func (t *torchReader) before(history *list, segments any, device int64) error {
	known := map[int64]bool{} // addresses that the history makes or frees
	for i, x := range history.items {
		d, _ := x.(map[string]any)
		r := entry(d)
		if r["action"] != "alloc" && r["action"] != "free_requested" {
			continue
		}
		p, err := r.integer("addr")
		if err != nil {
			return fmt.Errorf("event %d: %w", i, err)
		}
		if r["action"] == "free_requested" && !known[p] {
			if err := t.block(Event{}, r, "addr", "size"); err != nil {
				return fmt.Errorf("event %d: %w", i, err)
			}
		}
		known[p] = true
	}
	all, _ := segments.(*list)
	if all == nil {
		return nil // nothing is known
	}
	for _, x := range all.items {
		d, _ := x.(map[string]any)
		segment := entry(d)
		if on, err := segment.integer("device"); err == nil && on != device {
			continue
		}
		at, _ := segment.integer("address")
		blocks, _ := segment["blocks"].(*list)
		if blocks == nil {
			continue
		}
		for _, x := range blocks.items {
			d, _ := x.(map[string]any)
			b := entry(d)
			size, err := b.integer("size")
			if err != nil {
				return fmt.Errorf("a block of segment %#x: %w", at, err)
			}
			if b["state"] == "active_allocated" && !known[at] {
				r := entry{"address": at, "size": size, "stream": segment["stream"]}
				if asked, err := b.integer("requested_size"); err == nil && asked > 0 {
					r["size"] = asked // old versions have it in the block's history
				}
				if err := t.block(Event{}, r, "address", "size"); err != nil {
					return fmt.Errorf("a block of segment %#x: %w", at, err)
				}
			}
			at += size // blocks follow each other; old versions do not say where they are
		}
	}
	return nil
}
