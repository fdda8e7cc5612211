package spec

import (
	"flag"
	"path/filepath"
	"strings"
	"sync"
)

// A Loader is the flags of an analyzer that reads specs, and the Sets that it
// made by them. The zero Loader reads no files but lastuse.spec. It is safe for
// several goroutines once its flags are set.
type Loader struct {
	files files
	root  string

	mu   sync.Mutex
	sets map[string]loaded // by module root
}

type loaded struct {
	set *Set
	err error
}

// Register declares the flags of the Loader: -spec, which may be repeated, and
// -root.
func (l *Loader) Register(fs *flag.FlagSet) {
	fs.Var(&l.files, "spec", "read effects of functions from `file`; may be repeated")
	fs.StringVar(&l.root, "root", "", "`folder` of the main module, whose lastuse.spec holds for all packages")
}

// Reset forgets the values of the flags and the Sets.
func (l *Loader) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.files, l.root, l.sets = nil, "", nil
}

// For returns the Set that holds for a package in the folder dir: files named
// with -spec, lastuse.spec of the main module if -root names it, lastuse.spec of
// the module of dir, embedded lines. Callers share it: use [Set.Fork] to add.
func (l *Loader) For(dir string) (*Set, error) {
	own := ModuleRoot(dir)
	l.mu.Lock()
	defer l.mu.Unlock()
	if have, ok := l.sets[own]; ok {
		return have.set, have.err
	}
	roots := []string{own}
	if l.root != "" && l.root != own {
		roots = []string{l.root, own}
	}
	set, err := Load(l.files, roots...)
	if l.sets == nil {
		l.sets = map[string]loaded{}
	}
	l.sets[own] = loaded{set, err}
	return set, err
}

// files is the value of a flag that may be repeated.
type files []string

func (f *files) String() string { return strings.Join(*f, string(filepath.ListSeparator)) }

func (f *files) Set(name string) error {
	*f = append(*f, name)
	return nil
}
