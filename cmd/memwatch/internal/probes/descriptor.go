package probes

import (
	"fmt"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
)

// What the kernel does for a probe. The layout is shared with the probe programs.
const (
	MaxFetches = 6
	MaxWords   = 8
)

// When a call is reported.
const (
	EmitEntry   uint8 = 1 << iota // before it runs
	EmitSuccess                   // when it returned without an error
	EmitFailure                   // when it returned an error
)

// Flags of a Descriptor.
const (
	CountAlloc uint8 = 1 << iota // the kernel counts its successes as allocations
	CountFree                    // and as frees
	WithStack                    // the call stack is taken
	Signed                       // a size below zero is a free, and takes no stack; Python's do without C's
)

// The kinds of a Fetch.
const (
	FetchArg uint8 = iota // the argument
	FetchIn               // bytes behind it on entry
	FetchOut              // bytes behind it on return
)

// A Fetch puts up to 48 bytes of a call into the words of its report.
type Fetch struct {
	Kind, Arg, Offset, Bytes uint8
}

// A Descriptor is what the kernel knows of a probe. Words are filled by the fetches
// one after the other, each beginning a new word.
type Descriptor struct {
	Emit    uint8
	Result  uint8 // a Result
	Flags   uint8
	Unless  uint8 // a word: calls where its lowest byte is 0 are passed over; 255: none
	Fetches uint8
	Size    [3]uint8 // words whose product is the size; 255: none
	Fetch   [MaxFetches]Fetch
}

// noWord stands for no word in Descriptor.Size and Unless.
const noWord = 255

// plan is where a probe's sources are in the words.
type plan struct {
	desc  Descriptor
	words map[Source]int
}

var plans = makePlans()

func makePlans() []plan {
	ps := make([]plan, len(all))
	for i, p := range all {
		ps[i] = p.plan()
	}
	return ps
}

// Descriptor returns what the kernel needs to know of the probe.
func (p *Probe) Descriptor() Descriptor { return plans[p.id].desc }

// NeedsReturn reports whether the return of the call is of interest.
func (p *Probe) NeedsReturn() bool { return p.Descriptor().Emit != EmitEntry }

// plan gives each source its words. A table that does not fit does not start; a
// test makes that certain.
func (p *Probe) plan() plan {
	pl := plan{words: make(map[Source]int)}
	d := &pl.desc
	d.Size, d.Unless = [3]uint8{noWord, noWord, noWord}, noWord
	d.Result = uint8(p.Result)
	switch {
	case p.signed:
		d.Emit = EmitEntry
		d.Flags = WithStack | Signed
	case freeing(p.Op):
		d.Emit = EmitEntry | EmitFailure
		d.Flags = CountFree
		if p.Result == Void {
			d.Emit = EmitEntry
		}
	case making(p.Op):
		d.Emit = EmitSuccess | EmitFailure
		d.Flags = CountAlloc | WithStack
	default:
		d.Emit = EmitSuccess
	}
	word := 0
	add := func(s Source) {
		if s.kind == nothing || s.kind == result {
			return
		}
		if _, ok := pl.words[s]; ok {
			return
		}
		n := (int(s.bytes) + 7) / 8
		if int(d.Fetches) == MaxFetches || word+n > MaxWords {
			panic(fmt.Sprintf("probes: %s: too much to fetch", p.Symbol))
		}
		f := Fetch{Arg: s.arg, Offset: s.offset, Bytes: s.bytes}
		switch s.kind {
		case input:
			f.Kind = FetchIn
		case output:
			f.Kind = FetchOut
		}
		d.Fetch[d.Fetches] = f
		d.Fetches++
		pl.words[s] = word
		word += n
	}
	for _, s := range []Source{p.Addr, p.Aux, p.Ctx, p.Device, p.Stream, p.Pool, p.Code, p.where, p.list, p.on} {
		add(s)
	}
	for _, s := range p.shapeOf {
		add(s)
	}
	for i, s := range p.Size {
		add(s)
		d.Size[i] = uint8(pl.words[s])
	}
	if p.on.kind != nothing {
		d.Unless = uint8(pl.words[p.on])
	}
	return pl
}

// A Phase is the part of a call that is reported.
type Phase uint8

const (
	Entry Phase = iota
	Success
	Failure
)

// Raw is one report of the kernel.
type Raw struct {
	Probe     uint16 // ID
	Phase     Phase
	PID, TID  uint32
	Time      int64  // nanoseconds: now
	Start     uint64 // of the process, nanoseconds since boot
	Begin     int64  // nanoseconds: when the call was entered
	Ret       uint64
	Words     [MaxWords]uint64
	Stack     uint64
	Goroutine uint64
}

// get returns the number at s, 0 for nothing.
func (r *Raw) get(pl *plan, s Source) uint64 {
	switch s.kind {
	case nothing:
		return 0
	case result:
		return r.Ret
	}
	v := r.Words[pl.words[s]]
	if s.bytes == 4 {
		v &= 1<<32 - 1
	}
	return v
}

// Translate appends the events of a report to dst. A report of an unknown probe
// adds nothing.
func Translate(dst []heap.Event, r *Raw) []heap.Event {
	if int(r.Probe) >= len(all) {
		return dst
	}
	p, pl := all[r.Probe], &plans[r.Probe]
	e := heap.Event{
		Op: p.Op, Class: p.Class, Space: p.Space, Owner: p.Owner,
		PID: r.PID, TID: r.TID, Time: r.Time, Begin: r.Begin,
		Device: heap.NoDevice, Stack: r.Stack, Goroutine: r.Goroutine,
		Addr:   r.get(pl, p.Addr) + uint64(p.plus),
		Aux:    r.get(pl, p.Aux),
		Ctx:    r.get(pl, p.Ctx),
		Stream: r.get(pl, p.Stream),
		Pool:   r.get(pl, p.Pool),
	}
	if p.Device.kind != nothing {
		e.Device = int32(r.get(pl, p.Device))
	}
	if p.location != noLocation {
		place(&e, r.get(pl, p.where))
	}
	if p.shape != noShape {
		var words [MaxWords]uint64
		n := 0
		for _, s := range p.shapeOf {
			n += copy(words[n:], r.Words[pl.words[s]:][:(int(s.bytes)+7)/8])
		}
		e.Size = bytesOf(p.shape, words[:n])
	} else if len(p.Size) > 0 {
		e.Size = 1
		for _, s := range p.Size {
			e.Size = times(e.Size, r.get(pl, s))
		}
	}
	switch {
	case p.signed:
		if n := int64(e.Size); n < 0 {
			e.Op, e.Size, e.Stack = heap.Free, 0, 0
		}
	case r.Phase == Failure:
		code := int32(r.Ret)
		if p.Code.kind != nothing {
			code = int32(r.get(pl, p.Code))
		}
		op := heap.Undo
		if making(p.Op) {
			op = heap.Fail
		} else if !freeing(p.Op) {
			return dst
		}
		size := e.Size
		e = heap.Event{Op: op, PID: e.PID, TID: e.TID, Time: e.Time, Addr: e.Addr, Code: code}
		if op == heap.Fail {
			e.Addr, e.Size = 0, size
			e.Stack, e.Text = r.Stack, p.Symbol
			for _, c := range p.lib.OutOfMemory {
				if c == code {
					e.Aux = 1
				}
			}
		}
	case p.list.kind != nothing:
		return appendList(dst, e, r, pl, p)
	}
	if e.Op == heap.Alloc && e.Addr == 0 && e.Size == 0 {
		return dst // nothing was asked for, and nothing was given
	}
	return append(dst, e)
}

// appendList appends an event for each address of a list. Those beyond what the
// kernel fetched are lost, and said to be.
func appendList(dst []heap.Event, e heap.Event, r *Raw, pl *plan, p *Probe) []heap.Event {
	room := uint64(p.list.bytes / 8)
	at := pl.words[p.list]
	n := e.Aux
	e.Aux = 0
	for i := range min(n, room) {
		e.Addr = r.Words[at+int(i)]
		dst = append(dst, e)
	}
	if n > room {
		dst = append(dst, heap.Event{Op: heap.Lost, PID: e.PID, TID: e.TID, Time: e.Time, Size: n - room, Text: "list"})
	}
	return dst
}

// times multiplies; what does not fit is as large as can be said, which the heap
// refuses.
func times(a, b uint64) uint64 {
	if b != 0 && a > ^uint64(0)/b {
		return ^uint64(0)
	}
	return a * b
}
