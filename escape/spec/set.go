package spec

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Level says who wrote a line. A higher level's line replaces a lower one's.
type Level uint8

const (
	Embedded   Level = iota // comes with lastuse
	Dependency              // lastuse.spec at the root of another module
	Module                  // lastuse.spec at the root of the module that is worked on
	Directive               // //lastuse:effect on the function itself
	Flag                    // a file named with -spec
	levels     = iota
)

// String returns a word for messages.
func (l Level) String() string {
	return [...]string{"embedded", "lastuse.spec of its module", "lastuse.spec", "directive", "-spec"}[l]
}

// ModuleFile is the name of the spec file at a module's root.
const ModuleFile = "lastuse.spec"

// A Set is what several files and directives say together. The zero Set is empty
// and ready to use.
type Set struct {
	tables [levels]*table // of lines that were added
	std    bool           // the embedded lines hold as well
	n      int            // lines added so far, for Line.order
	torn   []*Error       // see Torn
	freers *freerCache    // answers of Freers; nil in the zero Set
}

// A table is the lines of one level.
type table struct {
	exact map[string]*Line
	globs []*Line // longest first; of equals, the first added first
}

// Add takes over the lines of a file at a level. Where the level has a line of
// the same name already, the old one stays.
func (s *Set) Add(f *File, level Level) {
	for _, l := range f.Lines {
		s.AddLine(l, level)
	}
}

// AddLine takes over one line at a level; the Set owns a copy. Where the level
// has a line of the same name already, the old one stays.
func (s *Set) AddLine(l *Line, level Level) {
	s.freers = new(freerCache) // not the one that a Fork shares
	t := s.tables[level]
	if t == nil {
		t = &table{exact: map[string]*Line{}}
		s.tables[level] = t
	}
	line := *l
	line.Level = level
	line.order = s.n
	s.n++
	if !line.IsGlob() {
		if t.exact[line.Name] == nil {
			t.exact[line.Name] = &line
		}
		return
	}
	if slices.ContainsFunc(t.globs, func(g *Line) bool { return g.Name == line.Name }) {
		return
	}
	t.globs = append(t.globs, &line)
	slices.SortStableFunc(t.globs, func(a, b *Line) int { return cmp.Compare(len(b.Name), len(a.Name)) })
}

// Lookup returns the line that holds for the function called name, as [FullName]
// returns it. It does not say what a higher line replaced.
func (s *Set) Lookup(name string) (*Line, bool) {
	for level := levels - 1; level >= 0; level-- {
		if l := s.tables[level].lookup(name); l != nil {
			return l, true
		}
	}
	if !s.std {
		return nil, false
	}
	for _, lib := range embeddedLibs {
		if lib.about(name) {
			l := lib.table().lookup(name)
			return l, l != nil
		}
	}
	l := embeddedStd().lookup(name)
	return l, l != nil
}

// lookup returns the line of a table that holds for a name: an exact one, else
// that of the longest glob. The table may be nil.
func (t *table) lookup(name string) *Line {
	if t == nil {
		return nil
	}
	if l := t.exact[name]; l != nil {
		return l
	}
	for _, g := range t.globs {
		if strings.HasPrefix(name, strings.TrimSuffix(g.Name, "*")) {
			return g
		}
	}
	return nil
}

// Fork returns a Set with the lines of s and no directives: directives belong to
// the package that is being read, all else to the whole run. Adding directives
// to the fork leaves s alone. It costs nothing.
func (s *Set) Fork() *Set {
	f := *s
	if f.tables[Directive] != nil || f.freers == nil {
		f.freers = new(freerCache)
	}
	f.tables[Directive] = nil
	return &f
}

// Lines returns the lines that were added, the highest level first, each level
// in the order in which it was read. Lines that come with lastuse are not among
// them.
func (s *Set) Lines() []*Line {
	var all []*Line
	for level := levels - 1; level >= 0; level-- {
		all = append(all, s.tables[level].lines()...)
	}
	return all
}

// lines returns the lines of a table in the order in which they were added.
func (t *table) lines() []*Line {
	if t == nil {
		return nil
	}
	all := slices.AppendSeq(slices.Clone(t.globs), maps.Values(t.exact))
	slices.SortFunc(all, func(a, b *Line) int { return cmp.Compare(a.order, b.order) })
	return all
}

// Digest returns a short text that differs between Sets that answer differently.
// It does not depend on file names, comments or spacing of what was added.
func (s *Set) Digest() string {
	h := sha256.New()
	if s.std {
		h.Write(embeddedHash())
	}
	for _, l := range s.Lines() {
		fmt.Fprintf(h, "%d %s\n", l.Level, l)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Load makes the Set for the module at root: the files that the user named, first
// to last, then lastuse.spec of root (skipped if root is "" or has none), then the
// embedded lines. A file that is named twice, by whatever path, is read once. The
// error joins everything that is wrong in all files. Where files that the user named disagree, [Set.Torn]
// says.
func Load(files []string, root string) (*Set, error) {
	s, _, err := load(files, root)
	return s, err
}

// load is Load, and returns a function that reads lastuse.spec of another module into
// the Set.
func load(files []string, root string) (*Set, func(root string) error, error) {
	s := Set{std: true, freers: new(freerCache)}
	var errs []error
	var seen []os.FileInfo
	read := func(name string, level Level) {
		src, info, err := readFile(name)
		if level < Directive && errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("spec: %w", err))
			return
		}
		if slices.ContainsFunc(seen, func(o os.FileInfo) bool { return os.SameFile(o, info) }) {
			return
		}
		seen = append(seen, info)
		f, err := Parse(name, src)
		if err != nil {
			errs = append(errs, err)
			return
		}
		s.tear(f, level)
		s.Add(f, level)
	}
	for _, name := range files {
		read(name, Flag)
	}
	more := func(root string) error {
		errs = nil // none until now, or the Set is not returned
		read(filepath.Join(root, ModuleFile), Dependency)
		return errors.Join(errs...)
	}
	if root != "" {
		read(filepath.Join(root, ModuleFile), Module)
	}
	if len(errs) > 0 {
		return nil, nil, errors.Join(errs...)
	}
	return &s, more, nil
}

// tear finds the lines of a file of which one that was read at the same level says something else. Which of
// them is right nobody knows: what is left says that the function may do anything to its operands, and gives
// nothing. Clauses in another order say the same.
func (s *Set) tear(f *File, level Level) {
	have := map[string]*Line{}
	for _, l := range s.tables[level].lines() {
		have[l.Name] = l
	}
	for _, l := range f.Lines {
		was := have[l.Name]
		if was == nil || was.says() == l.says() || was.Torn != "" {
			continue
		}
		err := &Error{l.Pos, fmt.Sprintf("%s: %s:%d says something else: %s", l.Name,
			was.Pos.Filename, was.Pos.Line, formatClauses(was.Clauses))}
		s.torn = append(s.torn, err)
		was.Torn = err.Error()
		was.Clauses = []Clause{{Operand: Operand{Kind: Recv}, Effect: Escapes}, {Operand: Operand{Kind: Args}, Effect: Escapes}}
	}
}

// says returns what a line says, whatever the order of its clauses.
func (l *Line) says() string {
	var all []string
	for _, c := range l.Clauses {
		all = append(all, c.String())
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// Torn says of which functions two files of one level say different things, one [*Error] each; nil if they
// agree.
func (s *Set) Torn() error { return joinErrors(s.torn) }

// maxFile is the size, in bytes, above which a file is taken for a mistake.
const maxFile = 16 << 20

func readFile(name string) ([]byte, os.FileInfo, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if info.IsDir() {
		return nil, nil, fmt.Errorf("%s is a folder", name)
	}
	var b bytes.Buffer
	n, err := io.Copy(&b, io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, nil, err
	}
	if n > maxFile {
		return nil, nil, fmt.Errorf("%s: larger than %d bytes", name, maxFile)
	}
	return b.Bytes(), info, nil
}
