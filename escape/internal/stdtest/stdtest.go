// Package stdtest has the types of the standard library for tests, read from its source once in a process.
//
// Reading takes a second and more, which each test would spend that made an importer of its own. All files of
// all tests are in one file set, as places of two sets cannot be told apart.
package stdtest

import (
	"go/importer"
	"go/token"
	"go/types"
	"sync"
)

// Types returns the file set and the importer. Both may be used by several goroutines.
func Types() (*token.FileSet, types.Importer) {
	l := library()
	return l.fset, l
}

var library = sync.OnceValue(func() *locked {
	fset := token.NewFileSet()
	return &locked{fset: fset, from: importer.ForCompiler(fset, "source", nil), have: map[string]*types.Package{}}
})

// A locked importer is asked by one goroutine at a time. It remembers the packages, as the one behind it
// looks at their files each time.
type locked struct {
	fset *token.FileSet
	mu   sync.Mutex
	from types.Importer
	have map[string]*types.Package
}

func (l *locked) Import(path string) (*types.Package, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.have[path]; p != nil {
		return p, nil
	}
	p, err := l.from.Import(path)
	if err == nil {
		l.have[path] = p
	}
	return p, err
}
