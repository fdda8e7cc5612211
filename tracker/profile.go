package tracker

import (
	"compress/gzip"
	"io"
	"os"
	"time"
)

// Fields of the messages in profile.proto.
const (
	profileSampleType        = 1
	profileSample            = 2
	profileMapping           = 3
	profileLocation          = 4
	profileFunction          = 5
	profileStringTable       = 6
	profileTimeNanos         = 9
	profilePeriodType        = 11
	profilePeriod            = 12
	profileDefaultSampleType = 14

	valueTypeType = 1
	valueTypeUnit = 2

	sampleLocation = 1
	sampleValue    = 2

	mappingID           = 1
	mappingFilename     = 5
	mappingHasFunctions = 7
	mappingHasFilenames = 8
	mappingHasLines     = 9
	mappingHasInlines   = 10

	locationID      = 1
	locationMapping = 2
	locationLine    = 4
	lineFunction    = 1
	lineLine        = 2

	functionID       = 1
	functionName     = 2
	functionSystem   = 3
	functionFilename = 4
)

// WriteProfile writes the call sites as a compressed pprof profile with the values
// alloc_objects, alloc_space, inuse_objects and inuse_space, the last being
// the default, as Go's own heap profile has them.
func (t *Tracker) WriteProfile(w io.Writer) error {
	// Everything is built before anything is written: a reader that stalls holds nothing up.
	p := newProfile()
	for _, s := range t.Sites() {
		p.add(s)
	}
	data := p.finish(t.Rate())
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	if _, err := z.Write(data); err != nil {
		return err
	}
	return z.Close()
}

// A profile collects samples. Strings, functions and locations are written once.
type profile struct {
	proto
	strings   map[string]int64
	list      []string
	functions map[[2]string]int64
	locations map[Frame]int64
	rest      proto // functions and locations, written after the samples
}

func newProfile() *profile {
	p := &profile{strings: map[string]int64{}, functions: map[[2]string]int64{}, locations: map[Frame]int64{}}
	p.string("") // the format wants it first
	for _, kind := range [][2]string{
		{"alloc_objects", "count"}, {"alloc_space", "bytes"}, {"inuse_objects", "count"}, {"inuse_space", "bytes"},
	} {
		p.valueType(profileSampleType, kind[0], kind[1])
	}
	return p
}

// string returns the number of a string.
func (p *profile) string(s string) int64 {
	n, ok := p.strings[s]
	if !ok {
		n = int64(len(p.list))
		p.strings[s] = n
		p.list = append(p.list, s)
	}
	return n
}

func (p *profile) valueType(field int, kind, unit string) {
	p.message(field, func(m *proto) {
		m.int(valueTypeType, p.string(kind))
		m.int(valueTypeUnit, p.string(unit))
	})
}

// function returns the number of a function.
func (p *profile) function(name, file string) int64 {
	id, ok := p.functions[[2]string{name, file}]
	if !ok {
		id = int64(len(p.functions) + 1)
		p.functions[[2]string{name, file}] = id
		p.rest.message(profileFunction, func(m *proto) {
			m.int(functionID, id)
			m.int(functionName, p.string(name))
			m.int(functionSystem, p.string(name))
			m.int(functionFilename, p.string(file))
		})
	}
	return id
}

// location returns the number of a frame. Frames that were inlined are locations of
// their own: a location has no address here that they could share.
func (p *profile) location(f Frame) int64 {
	id, ok := p.locations[f]
	if !ok {
		id = int64(len(p.locations) + 1)
		p.locations[f] = id
		name := f.Function
		if name == "" {
			name = "(unknown)"
		}
		function := p.function(name, f.File)
		p.rest.message(profileLocation, func(m *proto) {
			m.int(locationID, id)
			m.int(locationMapping, 1)
			m.message(locationLine, func(l *proto) {
				l.int(lineFunction, function)
				l.int(lineLine, int64(f.Line))
			})
		})
	}
	return id
}

// add adds a site.
func (p *profile) add(s Site) {
	stack := s.Frames
	if len(stack) == 0 {
		stack = []Frame{{Function: "(" + s.String() + ")"}}
	}
	ids := make([]int64, len(stack))
	for i, f := range stack {
		ids[i] = p.location(f)
	}
	p.message(profileSample, func(m *proto) {
		m.ints(sampleLocation, ids)
		m.ints(sampleValue, []int64{s.AllocObjects, s.AllocBytes, s.LiveObjects, s.LiveBytes})
	})
}

// finish returns the profile's bytes.
func (p *profile) finish(rate int64) []byte {
	exe, err := os.Executable()
	if err != nil {
		exe = "?" // only a label
	}
	// The one mapping says that all names are here, so that pprof looks for no others.
	p.message(profileMapping, func(m *proto) {
		m.int(mappingID, 1)
		m.int(mappingFilename, p.string(exe))
		for _, field := range []int{mappingHasFunctions, mappingHasFilenames, mappingHasLines, mappingHasInlines} {
			m.int(field, 1)
		}
	})
	p.data = append(p.data, p.rest.data...)
	p.int(profileTimeNanos, time.Now().UnixNano())
	p.valueType(profilePeriodType, "space", "bytes")
	p.int(profilePeriod, max(rate, 0))
	p.int(profileDefaultSampleType, p.string("inuse_space"))
	for _, s := range p.list {
		p.bytes(profileStringTable, []byte(s))
	}
	return p.data
}
