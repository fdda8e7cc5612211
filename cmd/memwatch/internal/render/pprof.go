package render

import (
	"io"

	"github.com/google/pprof/profile"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
)

// Pprof writes a compressed profile for go tool pprof, Pyroscope and Parca, with the
// sample types of Go's heap profile: inuse_space is the default. wall is the time in
// nanoseconds since 1970. Addresses are left out where functions are known, since
// the functions are named already.
func Pprof(w io.Writer, s *heap.Snapshot, wall int64) error {
	p := &profiled{functions: make(map[heap.Frame]*profile.Function), locations: make(map[heap.Frame]*profile.Location)}
	p.SampleType = []*profile.ValueType{
		{Type: "alloc_objects", Unit: "count"}, {Type: "alloc_space", Unit: "bytes"},
		{Type: "inuse_objects", Unit: "count"}, {Type: "inuse_space", Unit: "bytes"},
	}
	p.DefaultSampleType, p.TimeNanos = "inuse_space", wall
	for i := range s.Processes {
		proc := &s.Processes[i]
		for j := range proc.Sites {
			if proc.Sites[j].Counts {
				p.sample(proc, &proc.Sites[j])
			}
		}
	}
	return p.Write(w)
}

// A profiled is a profile in the making.
type profiled struct {
	profile.Profile
	functions map[heap.Frame]*profile.Function
	locations map[heap.Frame]*profile.Location
}

func (p *profiled) sample(proc *heap.Process, t *heap.Site) {
	live, objects := t.Live, t.Objects
	if proc.Exited {
		live, objects = t.AtExitBytes, t.AtExitObjects
	}
	frames := t.Frames
	if len(frames) == 0 {
		frames = []heap.Frame{{Func: "[unresolved]"}}
	}
	s := &profile.Sample{
		Value:    []int64{int64(t.AllocObjects), int64(t.AllocBytes), objects, live},
		Label:    map[string][]string{"class": {t.Class}, "process": {Clean(proc.Name)}},
		NumLabel: map[string][]int64{"pid": {int64(proc.PID)}},
	}
	for _, f := range frames {
		s.Location = append(s.Location, p.location(f))
	}
	p.Sample = append(p.Sample, s)
}

// location returns the location of a frame.
func (p *profiled) location(f heap.Frame) *profile.Location {
	key := f
	if f.Func != "" {
		key.PC = 0
	}
	l := p.locations[key]
	if l == nil {
		l = &profile.Location{ID: uint64(len(p.Location) + 1), Address: key.PC}
		if f.Func != "" {
			l.Line = []profile.Line{{Function: p.function(f), Line: int64(f.Line)}}
		}
		p.locations[key] = l
		p.Location = append(p.Location, l)
	}
	return l
}

func (p *profiled) function(f heap.Frame) *profile.Function {
	key := heap.Frame{Func: f.Func, File: f.File}
	fn := p.functions[key]
	if fn == nil {
		name := Clean(f.Func)
		fn = &profile.Function{ID: uint64(len(p.Function) + 1), Name: name, SystemName: name, Filename: Clean(f.File)}
		p.functions[key] = fn
		p.Function = append(p.Function, fn)
	}
	return fn
}
