package escape

// What the analyzer knows about the package at hand and about the functions
// it calls: specs, directives, facts, and the summaries inferred so far.

import (
	"go/ast"
	"go/build/constraint"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/types/typeutil"

	"github.com/lastuse/lastuse/escape/internal/proof"
	"github.com/lastuse/lastuse/escape/internal/rewrite"
	"github.com/lastuse/lastuse/escape/internal/vars"
	"github.com/lastuse/lastuse/escape/spec"
)

// A Reach is the fact that a package declares or imports a resource type.
// Packages without it are skipped in constant time.
type Reach struct {
	Freers []string // functions that free an operand: of specs and directives, then inferred ones
}

// AFact marks Reach as a fact about a package.
func (*Reach) AFact() {}

func (r *Reach) String() string { return "reach" }

type pkg struct {
	*subject
	facts facts
	limit int // values of a function that is decided

	twins  map[string][]twin // by receiver's type and name; nil until asked for
	absent *absent           // what files say that are not decided here; nil until asked for

	decls map[*types.Func]*ast.FuncDecl
	sums  map[*types.Func]*Summary // functions of this package, so far
	cache map[*types.Func]*Summary // callees, as callers see them
	busy  map[*types.Func]bool     // being computed: read optimistically
	frees typeutil.Map             // type → []*freer
	holds typeutil.Map             // type → bool

	freersFor  map[*types.Package][]declaredFreer // by package of the types
	freersOver map[*types.Package][]declaredFreer // by package of the functions

	counts typeutil.Map         // type → bool: reference counted
	tags   map[*ast.File]bool   // file is not part of every build
	locked map[*ast.File]string // why a file is not edited; "": it is

	freeing map[*types.Func]ArgEffect      // methods that free all that their receiver owns
	held    map[*types.Named]*holding      // what structs of this package own
	index   *bodyIndex                     // what bodies mention; nil until asked for
	named   map[string][]ast.Decl          // in which declarations an identifier stands; nil until asked for
	edits   *rewrite.Package               // what a rewriter has to know; nil until asked for
	uses    *vars.Index                    // what is done with variables; nil until asked for
	funcs   *funcValues                    // what is stored where functions are read; nil until asked for
	methods map[string][]*types.Func       // by name; nil until asked for
	proofs  map[*types.Func]*proof.Summary // what the proof finds out about functions
	proving *proving                       // what the proof withheld; nil where nothing is proven
}

// facts is what the analyzer asks of other packages.
type facts interface {
	summary(f *types.Func) *Summary
	reach(p *types.Package) *Reach
}

type passFacts struct{ pass *analysis.Pass }

func (p passFacts) summary(f *types.Func) *Summary {
	var s Summary
	if f.Pkg() != nil && p.pass.ImportObjectFact(f, &s) {
		return &s
	}
	return nil
}

func (p passFacts) reach(q *types.Package) *Reach {
	var r Reach
	if p.pass.ImportPackageFact(q, &r) {
		return &r
	}
	return nil
}

func newPkg(fset *token.FileSet, files []*ast.File, info *types.Info, tp *types.Package, set *spec.Set, f facts) *pkg {
	return &pkg{
		limit: maxValues, facts: f,
		subject: newSubject(fset, files, info, tp, set),
		decls:   map[*types.Func]*ast.FuncDecl{},
		sums:    map[*types.Func]*Summary{},
		cache:   map[*types.Func]*Summary{},
		busy:    map[*types.Func]bool{},
		tags:    map[*ast.File]bool{},
		locked:  map[*ast.File]string{},

		freeing: map[*types.Func]ArgEffect{},

		freersFor:  map[*types.Package][]declaredFreer{},
		freersOver: map[*types.Package][]declaredFreer{},
	}
}

// vars returns what is done with the variables of the package.
func (p *pkg) vars() *vars.Index {
	if p.uses == nil {
		p.uses = vars.New(p.info, p.files)
	}
	return p.uses
}

func (p *pkg) qualifier(q *types.Package) string {
	if q == p.types {
		return ""
	}
	return q.Name()
}

func itoa(n int) string {
	var b [20]byte
	i := len(b)
	for {
		i--
		b[i] = byte('0' + n%10)
		if n /= 10; n == 0 {
			return string(b[i:])
		}
	}
}

func (p *pkg) funcName(f *types.Func) string {
	sig := f.Signature()
	if r := sig.Recv(); r != nil {
		t := types.TypeString(deref(r.Type()), p.qualifier)
		if i := strings.IndexByte(t, '['); i > 0 {
			t = t[:i]
		}
		if isPointer(r.Type()) {
			return "(*" + t + ")." + f.Name()
		}
		return t + "." + f.Name()
	}
	if f.Pkg() != nil && f.Pkg() != p.types {
		return f.Pkg().Name() + "." + f.Name()
	}
	if c, ok := cFunction(f); ok {
		return "C." + c
	}
	return f.Name()
}

// everyBuild reports whether the constant is the same in every build.
func (p *pkg) everyBuild(c *types.Const) bool {
	if c.Pkg() != p.types {
		return false
	}
	f := p.file(c.Pos())
	if f == nil {
		return false
	}
	tagged, ok := p.tags[f]
	if !ok {
		tagged = p.tagged(f)
		p.tags[f] = tagged
	}
	return !tagged
}

func (p *pkg) tagged(f *ast.File) bool {
	for _, g := range f.Comments {
		if g.Pos() > f.Package {
			break
		}
		for _, c := range g.List {
			if constraint.IsGoBuild(c.Text) || constraint.IsPlusBuild(c.Text) {
				return true
			}
		}
	}
	name := strings.TrimSuffix(filepath.Base(p.fset.PositionFor(f.Package, false).Filename), ".go")
	name = strings.TrimSuffix(name, "_test")
	if i := strings.LastIndexByte(name, '_'); i >= 0 {
		return knownSystem[name[i+1:]]
	}
	return false
}

// knownSystem are the file name suffixes that restrict a file to some builds.
var knownSystem = func() map[string]bool {
	m := map[string]bool{}
	for _, s := range strings.Fields("aix android darwin dragonfly freebsd illumos ios js linux netbsd openbsd plan9 solaris wasip1 windows " +
		"386 amd64 arm arm64 loong64 mips mips64 mips64le mipsle ppc64 ppc64le riscv64 s390x wasm") {
		m[s] = true
	}
	return m
}()
