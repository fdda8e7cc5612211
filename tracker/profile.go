package tracker

import (
	"io"
	"os"
	"time"

	"github.com/google/pprof/profile"
)

// WriteProfile writes the call sites as a compressed pprof profile with the values
// alloc_objects, alloc_space, inuse_objects and inuse_space, the last being
// the default, as Go's own heap profile has them.
func (t *Tracker) WriteProfile(w io.Writer) error {
	return profileOf(t.Sites(), t.Rate()).Write(w)
}

// profileOf returns the profile of sites that were sampled at a rate.
func profileOf(sites []Site, rate int64) *profile.Profile {
	exe, err := os.Executable()
	if err != nil {
		exe = "?" // only a label
	}
	// The one mapping says that all names are here, so that pprof looks for no others.
	all := &profile.Mapping{ID: 1, File: exe, HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{
			{Type: "alloc_objects", Unit: "count"}, {Type: "alloc_space", Unit: "bytes"},
			{Type: "inuse_objects", Unit: "count"}, {Type: "inuse_space", Unit: "bytes"},
		},
		DefaultSampleType: "inuse_space",
		Mapping:           []*profile.Mapping{all},
		TimeNanos:         time.Now().UnixNano(),
		PeriodType:        &profile.ValueType{Type: "space", Unit: "bytes"},
		Period:            max(rate, 0),
	}
	functions := make(map[[2]string]*profile.Function)
	locations := make(map[Frame]*profile.Location)
	// Frames that were inlined are locations of their own: a location has no address here that they could
	// share.
	location := func(f Frame) *profile.Location {
		l := locations[f]
		if l != nil {
			return l
		}
		name := f.Function
		if name == "" {
			name = "(unknown)"
		}
		function := functions[[2]string{name, f.File}]
		if function == nil {
			function = &profile.Function{ID: uint64(len(p.Function) + 1), Name: name, SystemName: name, Filename: f.File}
			functions[[2]string{name, f.File}] = function
			p.Function = append(p.Function, function)
		}
		l = &profile.Location{ID: uint64(len(p.Location) + 1), Mapping: all, Line: []profile.Line{{Function: function, Line: int64(f.Line)}}}
		locations[f] = l
		p.Location = append(p.Location, l)
		return l
	}
	for _, s := range sites {
		stack := s.Frames
		if len(stack) == 0 {
			stack = []Frame{{Function: "(" + s.String() + ")"}}
		}
		sample := &profile.Sample{Value: []int64{s.AllocObjects, s.AllocBytes, s.LiveObjects, s.LiveBytes}}
		for _, f := range stack {
			sample.Location = append(sample.Location, location(f))
		}
		p.Sample = append(p.Sample, sample)
	}
	return p
}
