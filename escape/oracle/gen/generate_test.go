package gen

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/lastuse/lastuse/internal/tier"
)

// constructs are the ones that each must occur in at least one program of a
// hundred.
var constructs = []string{
	"pointer resource", "closure", "closure lent", "copy", "phi", "ping-pong", "swap", "struct", "struct field", "struct pointer",
	"struct copy", "field overwritten", "array", "slice", "append", "range", "free loop", "re-slice", "map", "embedded", "interface",
	"interface method", "function value", "type switch", "method value", "method expression", "method", "generic", "range over func",
	"named result", "deferred free", "deferred literal", "deferred use", "defer in loop", "labelled break", "labelled continue", "break", "continue",
	"goto", "backward goto", "fallthrough", "switch", "select", "select send", "local channel", "sent to others", "joined goroutine",
	"test cleanup", "sync.Pool", "error tuple", "wrapped error", "inverted test", "ignored error", "correlated", "constant argument",
	"consumed", "consumed on success", "kept by callee", "view", "raw pointer", "keepalive", "several streams", "queued function",
	"captured by a queued function", "temporary", "reassigned", "early return", "explicit panic", "recover", "recursion", "identity",
	"other package", "wrapped maker", "use in condition", "short circuit", "loop condition", "endless loop", "return expression",
	"literal called", "literal lent", "literal called in turn", "result dropped", "exit", "user free", "address taken", "goroutine", "stored in a parameter", "kept in a global",
	"call", "escape", "branch", "loop", "cell", "result leads to a literal", "map key", "error that holds", "iterator", "pulled iterator", "struct destructor", "slice in a struct",
	"promoted free", "resize", "errgroup", "shadowed error", "made in a header", "temporary in a header", "range over a literal", "mixed phi",
	"correlated free", "nil tested", "deferred free of nil", "deferred clean-up", "deferred read", "deferred read in loop", "deferred under a flag", "flag set by others", "reassigned after a defer", "receiver evaluated early",
	"nothing without an error", "assigned to blank", "free handed on", "getter handed on",
	"stored after a deferred free", "free that insists", "buffer in two places", "field taken out", "freed beside an error",
	"result filled in later", "freed by a function", "typed nil", "shadowed name", "half-filled struct",
	"goroutines in a loop", "errgroup in a loop", "reads after a deferred Done", "left before the Wait", "group of the loop's own",
	"group assigned again", "range over a channel", "loop that a select leaves", "free with an effect", "free that locks",
	"free that closes a channel", "free that prints", "free that counts", "free that deletes a cache entry",
	"free that calls a hook", "free that releases a semaphore", "getter and a field that is replaced", "getter of another package",
	"struct that leads to itself", "string of foreign memory", "string of foreign memory that stays", "snapshot",
	"struct copied through pointers", "kept by the standard library", "kept by a method that fmt calls", "constant branch", "dead copy", "destructor and a shared field", "panic value that holds",
	"error tested later", "interface result", "literal that calls itself", "freed through an interface", "boolean result",
	"result that a recover returns",
}

func TestConstructs(t *testing.T) {
	tier.Skip(t, "makes 1,500 programs")
	const n = 1500
	count := map[string]int{}
	for i := range n {
		for tag := range Generate(i, uint64(i)).Tags {
			count[tag]++
		}
	}
	for tag := range count {
		assert.Contains(t, constructs, tag, "of the list")
	}
	for _, c := range constructs {
		t.Logf("%5.2f %% %s", 100*float64(count[c])/n, c)
		assert.GreaterOrEqual(t, count[c], n/100, "programs with %s", c)
	}
}

// A getter that calls its literal once keeps the first buffer of a variable, of which the interpreter knows
// the last, so no such variable is assigned again.
func TestOnceIsNotAssigned(t *testing.T) {
	const seed = 2711
	getters := 0
	for _, from := range []int{31686, 80845, 54007, 0} {
		for id := from; id < from+tier.Of(50, 400); id++ {
			for _, f := range Generate(id, seed<<32+uint64(id)).Funcs {
				kept := map[*Var]bool{}
				Walk(f.Body, func(s Stmt) bool {
					switch s := s.(type) {
					case *Assign:
						if s.Dst[0].V.Kind == KGetter && once(s.How) {
							kept[s.Src[0].V] = true
							getters++
						}
					case *Make:
						assert.False(t, kept[s.Dst.V], "program %d: %s", id, s.Dst.V.Name)
					}
					return true
				})
			}
		}
	}
	assert.Positive(t, getters)
}
