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

// A DependencyError is what is wrong with lastuse.spec of a module that is not the
// one that is worked on. The user cannot mend it, and what the file says of the
// module's functions is not known.
type DependencyError struct {
	Err error // joins an [*Error] for each bad line, or says why the file cannot be read
}

// Error returns the text of Err.
func (e *DependencyError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *DependencyError) Unwrap() error { return e.Err }

// Register declares the flags of the Loader: -spec, which may be repeated, and
// -root.
func (l *Loader) Register(fs *flag.FlagSet) {
	fs.Var(&l.files, "spec", "read effects of functions from `file`; may be repeated")
	fs.StringVar(&l.root, "root", "", "`folder` of the main module, whose lastuse.spec holds for all packages")
}

// For returns the Set that holds for a package in the folder dir: files named
// with -spec, lastuse.spec of the main module, which -root names, lastuse.spec of
// the module of dir if that is another, embedded lines. Without -root the module
// of dir is taken for the main module. Callers share the Set: use [Set.Fork] to
// add. A [*DependencyError] comes with the Set that lacks the file.
func (l *Loader) For(dir string) (*Set, error) {
	own, vendored := home(dir)
	l.mu.Lock()
	defer l.mu.Unlock()
	if have, ok := l.sets[own]; ok {
		return have.set, have.err
	}
	root := l.root
	if root == "" && vendored {
		root = ModuleRoot(dir)
	} else if root == "" {
		root = own
	}
	set, more, err := load(l.files, root)
	if err == nil && own != "" && own != root {
		if problem := more(own); problem != nil {
			err = &DependencyError{problem}
		}
	}
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
