package escape

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/lastuse/lastuse/escape/spec"
)

// A subject is the package at hand, as a driver gives it.
type subject struct {
	fset   *token.FileSet
	files  []*ast.File
	sorted []*ast.File // by position; nil until asked for
	info   *types.Info
	types  *types.Package
	set    *spec.Set // with its directives
	cgo    bool      // cgo's translations are edited like other files
	told   bool      // nobody asks for more than its facts

	ignored []string                     // names of files that this build leaves out
	read    func(string) ([]byte, error) // gives their text
	dir     string                       // of the package's source; "" if that is not known
	marked
}

// marked is what comments and calls in files say, as far as it was asked for.
type marked struct {
	keeps  map[*ast.File]map[int]string // the lines that say so
	panics map[*ast.File][]panicking
}

func newSubject(fset *token.FileSet, files []*ast.File, info *types.Info, tp *types.Package, set *spec.Set) *subject {
	return &subject{fset: fset, files: files, info: info, types: tp, set: set,
		marked: marked{keeps: map[*ast.File]map[int]string{}, panics: map[*ast.File][]panicking{}}}
}

// line prints a position for people: base name and line of the source as it was
// written, which line directives name where cgo or a generator made the file.
func (p *subject) line(pos token.Pos) string {
	q := p.fset.Position(pos)
	return filepath.Base(q.Filename) + ":" + strconv.Itoa(q.Line)
}

// file returns the file that holds a position; nil if none does.
func (p *subject) file(pos token.Pos) *ast.File {
	if p.sorted == nil {
		p.sorted = slices.SortedFunc(slices.Values(p.files), func(a, b *ast.File) int { return cmp.Compare(a.FileStart, b.FileStart) })
	}
	i, _ := slices.BinarySearchFunc(p.sorted, pos+1, func(f *ast.File, pos token.Pos) int { return cmp.Compare(f.FileStart, pos) })
	if i == 0 || pos > p.sorted[i-1].FileEnd {
		return nil
	}
	return p.sorted[i-1]
}
