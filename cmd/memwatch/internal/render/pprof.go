package render

import (
	"compress/gzip"
	"encoding/binary"
	"io"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
)

// Pprof writes a compressed profile for go tool pprof, Pyroscope and Parca, with the
// sample types of Go's heap profile: inuse_space is the default. wall is the time in
// nanoseconds since 1970. Addresses are left out where functions are known, since
// the functions are named already.
func Pprof(w io.Writer, s *heap.Snapshot, wall int64) error {
	p := &profile{strings: map[string]int64{"": 0}, list: []string{""}, functions: map[heap.Frame]uint64{}, locations: map[heap.Frame]uint64{}}
	for _, t := range [][2]string{{"alloc_objects", "count"}, {"alloc_space", "bytes"}, {"inuse_objects", "count"}, {"inuse_space", "bytes"}} {
		var v message
		v.int(1, p.text(t[0]))
		v.int(2, p.text(t[1]))
		p.out.bytes(1, v)
	}
	for i := range s.Processes {
		proc := &s.Processes[i]
		for j := range proc.Sites {
			if proc.Sites[j].Own {
				p.sample(proc, &proc.Sites[j])
			}
		}
	}
	p.out.int(9, wall)
	p.out.int(14, p.text("inuse_space"))
	for _, s := range p.list { // a proto reader takes fields in any order
		p.out.bytes(6, []byte(s))
	}
	z := gzip.NewWriter(w)
	if _, err := z.Write(p.out); err != nil {
		return err
	}
	return z.Close()
}

// A profile is a message of profile.proto that is being written.
type profile struct {
	out       message
	strings   map[string]int64
	list      []string
	functions map[heap.Frame]uint64
	locations map[heap.Frame]uint64
}

func (p *profile) text(s string) int64 {
	n, ok := p.strings[s]
	if !ok {
		n = int64(len(p.list))
		p.strings[s] = n
		p.list = append(p.list, s)
	}
	return n
}

func (p *profile) sample(proc *heap.Process, t *heap.Site) {
	live, objects := t.Live, t.Objects
	if proc.Exited {
		live, objects = t.AtExitBytes, t.AtExitObjects
	}
	var ids, values, m message
	frames := t.Frames
	if len(frames) == 0 {
		frames = []heap.Frame{{Func: "[unresolved]"}}
	}
	for _, f := range frames {
		ids.varint(p.location(f))
	}
	for _, v := range []int64{int64(t.AllocObjects), int64(t.AllocBytes), objects, live} {
		values.varint(uint64(v))
	}
	m.bytes(1, ids)
	m.bytes(2, values)
	label := func(key, text string, num int64) {
		var l message
		l.int(1, p.text(key))
		if text != "" {
			l.int(2, p.text(text))
		} else {
			l.int(3, num)
		}
		m.bytes(3, l)
	}
	label("class", t.Class, 0)
	label("process", Clean(proc.Name), 0)
	label("pid", "", int64(proc.PID))
	p.out.bytes(2, m)
}

// location returns the number of a frame's location, which it writes when new.
func (p *profile) location(f heap.Frame) uint64 {
	key := f
	if f.Func != "" {
		key.PC = 0
	}
	if id := p.locations[key]; id != 0 {
		return id
	}
	id := uint64(len(p.locations) + 1)
	p.locations[key] = id
	var m message
	m.int(1, int64(id))
	m.int(3, int64(key.PC))
	if f.Func != "" {
		var line message
		line.int(1, int64(p.function(f)))
		line.int(2, int64(f.Line))
		m.bytes(4, line)
	}
	p.out.bytes(4, m)
	return id
}

func (p *profile) function(f heap.Frame) uint64 {
	key := heap.Frame{Func: f.Func, File: f.File}
	if id := p.functions[key]; id != 0 {
		return id
	}
	id := uint64(len(p.functions) + 1)
	p.functions[key] = id
	var m message
	m.int(1, int64(id))
	m.int(2, p.text(Clean(f.Func)))
	m.int(3, p.text(Clean(f.Func)))
	m.int(4, p.text(Clean(f.File)))
	p.out.bytes(5, m)
	return id
}

// A message is the wire form of a protocol buffer.
type message []byte

func (m *message) varint(v uint64) { *m = binary.AppendUvarint(*m, v) }

// int writes a number, which is left out when it is 0.
func (m *message) int(field int, v int64) {
	if v != 0 {
		m.varint(uint64(field)<<3 | 0)
		m.varint(uint64(v))
	}
}

func (m *message) bytes(field int, b []byte) {
	m.varint(uint64(field)<<3 | 2)
	m.varint(uint64(len(b)))
	*m = append(*m, b...)
}
