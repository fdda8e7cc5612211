package escape

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"

	"github.com/lastuse/lastuse/escape/internal/report"
	"github.com/lastuse/lastuse/escape/spec"
)

// Categories of findings, as a Diagnostic's Category and in -skip.
const (
	CategoryUnfreed      = "unfreed"        // never freed, nor handed on
	CategoryLeak         = "leak"           // likewise on some path
	CategoryLate         = "late"           // freed long after its last use
	CategoryDoubleFree   = "double-free"    // freed again
	CategoryUseAfterFree = "use-after-free" // used when it is freed
	CategoryKeepAlive    = "keepalive"      // used by a raw pointer alone
)

// Categories lists every category, in the order of the manual.
var Categories = []string{
	CategoryUnfreed, CategoryLeak, CategoryLate,
	CategoryDoubleFree, CategoryUseAfterFree, CategoryKeepAlive,
}

// A Result is what the analyzer learned about one package. Everything in it is
// in source order, so that two runs over the same source are byte-identical.
type Result struct {
	Pkg     *types.Package
	Funcs   []*Func   // functions that make, take or free a buffer
	Skipped []Skipped // functions that were declined as a whole, with the reason
	Bugs    []Bug     // edits that do not parse: bugs of the analyzer

	// Spec says what is wrong with lastuse.spec of the package's module, where that is
	// not the main one. The package is not analyzed then, and all that it does is unknown.
	Spec *spec.DependencyError

	places map[string][]report.Place // by text: which places of the source it names
}

// Reword returns a text of the result with other words for the places of the source that it
// names: those that line has for them. A place is FILE:LINE in the text.
func (r *Result) Reword(text string, line func(token.Pos) string) string {
	return report.Again(text, r.places[text], line)
}

// A Func is one function, method or function literal that has buffers.
type Func struct {
	// Name is the full name of the function as types.Func.FullName prints it;
	// literals are numbered in source order: "pkg.F$1".
	Name     string
	Pos      token.Pos // of the declaration or literal
	Filename string    // physical file, the one edits apply to
	Buffers  []*Buffer
	Findings []*Finding

	// Edits are the edits of all findings together, sorted, without overlap.
	// They are good only as a whole: apply all of a function's or none.
	Edits []analysis.TextEdit

	withheld int
}

// Withheld is the number of plans that the proof did not accept.
func (f *Func) Withheld() int { return f.withheld }

// A Verdict says what becomes of a buffer.
type Verdict uint8

const (
	Kept     Verdict = iota // not ours to free, or not decided: Reason says why
	Freed                   // the program frees it already, on every path
	Moved                   // returned or handed on, on every path that does not free it
	Inserted                // frees were planned: see Frees
	Reported                // a finding without a fix: Reason says why there is none
)

func (v Verdict) String() string {
	return [...]string{"kept", "freed", "moved", "inserted", "reported"}[v]
}

// A Buffer is one site: a place in the source at which a buffer comes into being.
type Buffer struct {
	Site    token.Pos // of the call that makes it
	Name    string    // variable that holds it first, "" for a temporary
	Type    string    // e.g. "alloc.Buffer[float32]"
	Maker   string    // full name of the function called at the site
	Verdict Verdict

	// For a kept buffer: why, through which operation, and how it got there.
	Reason string    // e.g. "stored in field w of *Server", one line
	Sink   token.Pos // the operation through which it escapes; NoPos if there is none
	Path   []Step    // from the site to the sink
	Callee string    // full name of the function that keeps it, "" if it is not a call

	Stops *Step // of a plan that is withheld: the step at which its proof stops; else nil

	// For an inserted buffer: the plan, in source order.
	Frees []Free
}

// A Step is one station on the path from a site to its sink.
type Step struct {
	Pos  token.Pos
	Text string // e.g. "copied to c", "viewed by v"
}

// A Free is one planned statement.
type Free struct {
	Pos  token.Pos // where the text goes
	Text string    // e.g. "w.Free()"
	Why  string    // e.g. "after the last use at line 12", "on the edge where it is dead"
}

// A Finding is one diagnostic. Edits is empty where there is no fix; the reason
// then stands in Buffer.Reason.
type Finding struct {
	Category string
	Pos, End token.Pos
	Message  string
	Related  []analysis.RelatedInformation
	Fix      string // what the edits do, e.g. "free w after its last use"
	Edits    []analysis.TextEdit
	Buffer   *Buffer // nil for findings about a type's destructor
}

// A Skipped function was not decided.
type Skipped struct {
	Name   string
	Pos    token.Pos
	Reason string
}

// A Bug is a plan whose edits do not parse: it is withdrawn. Users are asked to report it.
type Bug struct {
	Name string // function
	Pos  token.Pos
	Text string
}
