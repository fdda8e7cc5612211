// Package tier says which tests are long.
//
//	go test ./...              what there is to hear of a change in five minutes on two processors
//	go test -tags long ./...   all tests, and more rounds of random ones: what .ci/run runs
//	go test -short ./...       what one works with: no programs are built
//
// A test that is long skips itself without the tag, or does less. What must never be wrong has a part in each
// tier: the proof's cases, some programs of the oracle and of the attacks.
package tier

// A skipper is a test.
type skipper interface {
	Helper()
	Skip(args ...any)
}

// Skip skips a test that is long, for a reason.
func Skip(t skipper, why string) {
	t.Helper()
	if !Long {
		t.Skip("a long test, ask with -tags long:", why)
	}
}

// Of returns how much a test does: some of it, or all with -tags long.
func Of(some, all int) int {
	if Long {
		return all
	}
	return some
}
