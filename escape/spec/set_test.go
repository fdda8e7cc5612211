package spec

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func parse(t *testing.T, src string) *File {
	t.Helper()
	f, err := Parse("x.spec", []byte(src))
	require.NoError(t, err)
	return f
}

// lookup returns the clauses that hold for a name, as text; "" if there are none.
func lookup(s *Set, name string) string {
	l, ok := s.Lookup(name)
	if !ok {
		return ""
	}
	return formatClauses(l.Clauses)
}

func TestLookup(t *testing.T) {
	var s Set
	require.Empty(t, lookup(&s, "p.F"))
	s.Add(parse(t, `
p.*          args escapes
p._Cfunc_*   args borrowed
p._Cfunc_Mat_*  arg 0 retained
p._Cfunc_Mat_Free  arg 0 freed
(*p.T).*     recv borrowed
`), Module)
	for name, want := range map[string]string{
		"p.F":               "args escapes",
		"p._Cfunc_memcpy":   "args borrowed",
		"p._Cfunc_Mat_":     "arg 0 retained", // the star may stand for nothing
		"p._Cfunc_Mat_Row":  "arg 0 retained", // the longest glob
		"p._Cfunc_Mat_Free": "arg 0 freed",    // an exact name beats all
		"(*p.T).M":          "recv borrowed",
		"(p.T).M":           "", // the other method set
		"p/q.F":             "", // a folder below
	} {
		require.Equal(t, want, lookup(&s, name), name)
	}
}

func TestPrecedence(t *testing.T) {
	var s Set
	s.Add(parse(t, "p.F recv freed, arg 0 borrowed\np.G args borrowed\np.H args borrowed\n"), Embedded)
	s.Add(parse(t, "p.F recv borrowed\n"), Module)
	require.Equal(t, "recv borrowed", lookup(&s, "p.F"), "a higher line replaces the whole line")

	s.Add(parse(t, "p.G args retained\n"), Directive)
	s.Add(parse(t, "p.G args escapes\n"), Module)
	require.Equal(t, "args retained", lookup(&s, "p.G"))

	s.Add(parse(t, "p.* args freed\n"), Flag)
	require.Equal(t, "args freed", lookup(&s, "p.G"), "the level decides before exact and glob do")
	s.Add(parse(t, "p.* args borrowed\np.G args escapes\n"), Flag)
	require.Equal(t, "args freed", lookup(&s, "p.H"), "of two files of one level the first wins")
	require.Equal(t, "args escapes", lookup(&s, "p.G"), "exact beats glob across files of one level")

	l, _ := s.Lookup("p.G")
	require.Equal(t, Flag, l.Level)
}

func TestFork(t *testing.T) {
	var s Set
	s.Add(parse(t, "p.F args borrowed\n"), Module)
	a, b := s.Fork(), s.Fork()
	a.Add(parse(t, "p.F args freed\n"), Directive)
	require.Equal(t, "args freed", lookup(a, "p.F"))
	require.Equal(t, "args borrowed", lookup(b, "p.F"), "directives of one package are not those of another")
	require.Equal(t, "args borrowed", lookup(&s, "p.F"))
}

func TestDigest(t *testing.T) {
	digest := func(level Level, src string) string {
		var s Set
		s.Add(parse(t, src), level)
		return s.Digest()
	}
	base := digest(Module, "p.F args borrowed\np.G recv freed")
	require.Len(t, base, 32)
	require.Equal(t, base, digest(Module, "# other words\np.F   args  borrowed # here\r\np.G recv freed\n"))
	for _, other := range []string{
		digest(Flag, "p.F args borrowed\np.G recv freed"),   // the level matters
		digest(Module, "p.G recv freed\np.F args borrowed"), // the first freer wins: order matters
		digest(Module, "p.F args borrowed"),
		digest(Module, "p.F args borrowed\np.G recv freed repeatable"),
		digest(Module, "p.F args borrowed\np.G recv freed on error"),
	} {
		require.NotEqual(t, base, other)
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	s, err := Load(nil, "")
	require.NoError(t, err)
	require.Equal(t, "arg 0 borrowed", lookup(s, "runtime.KeepAlive"), "embedded lines are on by default")

	write("go.mod", "module m\n")
	write(ModuleFile, "m.F args borrowed\nfmt.Println args escapes\n")
	a := write("a.spec", "m.F args freed\n")
	b := write("b.spec", "m.F args freed\nm.G args retained\n")
	deep := filepath.Dir(write("in/the/deep/x.go", "package deep\n"))
	require.Equal(t, dir, ModuleRoot(deep))

	s, err = Load([]string{a, b}, ModuleRoot(deep))
	require.NoError(t, err)
	require.Equal(t, "args freed", lookup(s, "m.F"))
	require.Equal(t, "args retained", lookup(s, "m.G"))
	require.Equal(t, "args escapes", lookup(s, "fmt.Println"))

	t.Run("twice", func(t *testing.T) {
		link := filepath.Join(dir, "link.spec")
		require.NoError(t, os.Symlink(a, link))
		twice, err := Load([]string{a, link, filepath.Join(deep, "../../../a.spec"), b}, dir)
		require.NoError(t, err)
		names := 0
		for _, l := range twice.Lines() {
			if l.Name == "m.F" && l.Level == Flag {
				names++
			}
		}
		require.Equal(t, 1, names, "a.spec once; b.spec comes later at the same level, and the module's file below")
		require.Equal(t, "args escapes", lookup(twice, "fmt.Println"))
	})
	t.Run("disagree", func(t *testing.T) {
		c := write("c.spec", "m.G args freed\nm.H args freed\nm.F args freed\nm.* args freed\nm.K recv freed, args borrowed\n")
		d := write("d.spec", "m.H args freed\nm.* args borrowed\nm.K args borrowed, recv freed\n")
		s, err := Load([]string{a, b, c, d}, dir)
		require.NoError(t, err, "what they do not disagree on holds")
		require.EqualError(t, s.Torn(), c+":1: m.G: "+b+":2 says something else: args retained\n"+
			d+":2: m.*: "+c+":4 says something else: args freed")
		require.Equal(t, "recv escapes, args escapes", lookup(s, "m.G"))
		require.Equal(t, "recv escapes, args escapes", lookup(s, "m.Else"), "of the glob")
		require.Equal(t, "args freed", lookup(s, "m.H"), "both say so")
		require.Equal(t, "recv freed, args borrowed", lookup(s, "m.K"), "in another order")
		for name, torn := range map[string]bool{"m.G": true, "m.Else": true, "m.H": false, "m.F": false} {
			l, ok := s.Lookup(name)
			require.True(t, ok)
			require.Equal(t, torn, l.Torn != "", name)
		}
		s, err = Load([]string{a}, dir)
		require.NoError(t, err)
		require.NoError(t, s.Torn(), "a higher level replaces a line")
		s, err = Load([]string{a, filepath.Join(dir, ModuleFile)}, dir)
		require.NoError(t, err)
		require.ErrorContains(t, s.Torn(), ModuleFile+":1: m.F: "+a+":1 says something else", "it is named, so it is no lower")
	})
	t.Run("errors", func(t *testing.T) {
		bad := write("bad.spec", "m.F eats args\n")
		_, err := Load([]string{bad, filepath.Join(dir, "absent"), dir}, "")
		require.ErrorContains(t, err, bad+`:1: unknown operand "eats"`)
		require.ErrorContains(t, err, "no such file")
		require.ErrorContains(t, err, "is a folder")
	})
	t.Run("pipe", func(t *testing.T) {
		// What is not a regular file can be read all the same: -spec <(generate).
		s, err := Load([]string{"/dev/null"}, "")
		require.NoError(t, err)
		require.Empty(t, s.Lines())
	})
}

func TestEmbeddedIsNotShared(t *testing.T) {
	before, err := Load(nil, "")
	require.NoError(t, err)
	s, err := Load(nil, "")
	require.NoError(t, err)
	s.Add(parse(t, "runtime.KeepAlive args escapes\n"), Flag)
	require.Equal(t, "arg 0 borrowed", lookup(before, "runtime.KeepAlive"))
}

func TestLoader(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"main/go.mod": "module m\n", "main/lastuse.spec": "d.F args freed\n",
		"dep/go.mod": "module d\n", "dep/lastuse.spec": "d.F args borrowed\nd.G args borrowed\n", "dep/in/x.go": "package in\n",
		"main/vendor/modules.txt": "# x.org/v v1.0.0\n## explicit\nx.org/v/in\n", "main/vendor/x.org/v/lastuse.spec": "v.F args borrowed\n", "main/vendor/x.org/v/in/x.go": "package in\n",
		"broken/go.mod": "module b\n", "broken/lastuse.spec": "b.F eats args\n",
		"a.spec": "d.H args freed\n", "b.spec": "d.I args freed\n",
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	var l Loader
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	l.Register(fs)
	require.NoError(t, fs.Parse([]string{"-spec", filepath.Join(dir, "a.spec"), "-spec=" + filepath.Join(dir, "b.spec"), "-root", filepath.Join(dir, "main")}))
	s, err := l.For(filepath.Join(dir, "dep/in"))
	require.NoError(t, err)
	require.Equal(t, "args freed", lookup(s, "d.F"), "the main module speaks before the dependency")
	require.Equal(t, "args borrowed", lookup(s, "d.G"))
	line, _ := s.Lookup("d.G")
	require.Equal(t, Dependency, line.Level)
	require.True(t, s.OfModule("d"))
	require.False(t, s.OfModule("d/in"))
	require.Equal(t, "args freed", lookup(s, "d.H"))
	require.Equal(t, "args freed", lookup(s, "d.I"))
	again, err := l.For(filepath.Join(dir, "dep"))
	require.NoError(t, err)
	require.Same(t, s, again, "one Set for each module")

	t.Run("vendored", func(t *testing.T) {
		// A copy has no go.mod; modules.txt says where the modules are.
		s, err := l.For(filepath.Join(dir, "main/vendor/x.org/v/in"))
		require.NoError(t, err)
		require.Equal(t, "args borrowed", lookup(s, "v.F"))
		require.Equal(t, "args freed", lookup(s, "d.F"))
		s, err = new(Loader).For(filepath.Join(dir, "main/vendor/x.org/v/in"))
		require.NoError(t, err)
		line, _ := s.Lookup("d.F")
		require.Equal(t, Module, line.Level, "without -root the module around it is the main one")
	})
	t.Run("broken", func(t *testing.T) {
		set, err := l.For(filepath.Join(dir, "broken"))
		var dep *DependencyError
		require.ErrorAs(t, err, &dep)
		require.ErrorContains(t, err, `lastuse.spec:1: unknown operand "eats"`)
		require.Equal(t, "args freed", lookup(set, "d.F"), "the rest holds")
		_, err = new(Loader).For(filepath.Join(dir, "broken"))
		require.Error(t, err)
		require.False(t, errors.As(err, &dep), "without -root it may be the main module")
	})

	var other Loader
	fs = flag.NewFlagSet("", flag.ContinueOnError)
	other.Register(fs)
	require.NoError(t, fs.Parse([]string{"-spec", filepath.Join(dir, "absent")}))
	_, err = other.For(dir)
	require.ErrorContains(t, err, "no such file")
}
