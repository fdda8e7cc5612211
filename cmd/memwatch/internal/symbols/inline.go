package symbols

import (
	"debug/dwarf"
	"sort"
	"strings"
)

// A compiler puts a function into its caller and leaves for debuggers where it did: an address has the line
// of the innermost function then, and each function around it the line of its call.

// A call is a function that was put into its caller, and the line of the caller that calls it.
type call struct {
	name string // for linkers if there is one
	from place
}

// Bounds on what is read for functions.
const (
	maxEntries = 32 << 20 // of one file, and parts of functions: after that its functions are not looked into
	maxInlined = 32       // functions at an address
	maxHops    = 4        // from a function to where its name is
	maxParts   = 4 << 10  // of one function, each with addresses of its own
)

// A span is the addresses of a function, and where it is described.
type span struct {
	low, high uint64
	at        dwarf.Offset
}

// inlined returns the functions at an address that were put into others, innermost first.
func (l *lines) inlined(unit *dwarf.Entry, addr uint64) (calls []call) {
	spans, ok := l.spans[unit.Offset]
	if !ok {
		spans = l.readSpans(unit)
		l.spans[unit.Offset] = spans
	}
	i := sort.Search(len(spans), func(i int) bool { return spans[i].low > addr }) - 1
	if i < 0 || addr >= spans[i].high {
		return nil
	}
	var files []*dwarf.LineFile
	if r, err := l.data.LineReader(unit); err == nil && r != nil {
		files = r.Files()
	}
	r := l.data.Reader()
	r.Seek(spans[i].at)
	depth := 0
	for l.entries < maxEntries && len(calls) < maxInlined {
		e, err := r.Next()
		l.entries++
		if err != nil || e == nil {
			break
		}
		if e.Tag == 0 { // the end of a list of children
			if depth--; depth <= 0 {
				break
			}
			continue
		}
		inside := depth == 0
		if e.Tag == dwarf.TagInlinedSubroutine || e.Tag == dwarf.TagLexDwarfBlock {
			inside = l.covers(e, addr)
			if inside && e.Tag == dwarf.TagInlinedSubroutine {
				calls = append([]call{{l.nameOf(e), callOf(e, files)}}, calls...)
			}
		}
		if !e.Children {
			if depth == 0 {
				break
			}
			continue
		}
		if !inside {
			l.skip(r, e)
			continue
		}
		depth++
	}
	return calls
}

// readSpans returns the functions of a unit by address.
func (l *lines) readSpans(unit *dwarf.Entry) (all []span) {
	r := l.data.Reader()
	r.Seek(unit.Offset)
	if _, err := r.Next(); err != nil {
		return nil
	}
	for depth := 1; depth > 0 && l.entries < maxEntries; {
		e, err := r.Next()
		l.entries++
		if err != nil || e == nil {
			break
		}
		switch e.Tag {
		case 0:
			depth--
			continue
		case dwarf.TagNamespace, dwarf.TagStructType, dwarf.TagClassType: // functions may stand in them
			if e.Children {
				depth++
			}
			continue
		case dwarf.TagSubprogram:
			for _, g := range l.rangesOf(e) {
				all = append(all, span{g[0], g[1], e.Offset})
			}
		}
		if e.Children {
			l.skip(r, e)
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].low < all[j].low })
	return all
}

// skip goes past what an entry contains. Every entry counts, whatever the file says of where the next one is.
func (l *lines) skip(r *dwarf.Reader, e *dwarf.Entry) {
	if _, ok := e.Val(dwarf.AttrSibling).(dwarf.Offset); ok {
		r.SkipChildren()
		return
	}
	for depth := 1; depth > 0 && l.entries < maxEntries; {
		e, err := r.Next()
		l.entries++
		switch {
		case err != nil || e == nil:
			return
		case e.Tag == 0:
			depth--
		case e.Children:
			depth++
		}
	}
}

// rangesOf returns the addresses of what an entry describes, none if there are very many.
func (l *lines) rangesOf(e *dwarf.Entry) [][2]uint64 {
	ranges, err := l.data.Ranges(e)
	l.entries += len(ranges)
	if err != nil || len(ranges) > maxParts {
		return nil
	}
	return ranges
}

// covers reports whether an address is in what an entry describes.
func (l *lines) covers(e *dwarf.Entry, addr uint64) bool {
	for _, g := range l.rangesOf(e) {
		if g[0] <= addr && addr < g[1] {
			return true
		}
	}
	return false
}

// nameOf returns the name of what an entry is an instance of.
func (l *lines) nameOf(e *dwarf.Entry) string {
	for range maxHops {
		if n, ok := e.Val(dwarf.AttrLinkageName).(string); ok {
			return n
		}
		at, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
		if !ok {
			at, ok = e.Val(dwarf.AttrSpecification).(dwarf.Offset)
		}
		if !ok {
			break
		}
		r := l.data.Reader()
		r.Seek(at)
		next, err := r.Next()
		if err != nil || next == nil {
			break
		}
		e = next
	}
	n, _ := e.Val(dwarf.AttrName).(string)
	return n
}

// callOf returns the line that calls an inlined function.
func callOf(e *dwarf.Entry, files []*dwarf.LineFile) (p place) {
	if i, ok := e.Val(dwarf.AttrCallFile).(int64); ok && i >= 0 && i < int64(len(files)) && files[i] != nil {
		p.file = strings.Clone(files[i].Name)
	}
	if n, ok := e.Val(dwarf.AttrCallLine).(int64); ok && n > 0 && n < 1<<31 {
		p.line = int(n)
	}
	return p
}
