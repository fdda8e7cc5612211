package gen

// The decisions of a run.

// Tape yields the decisions of a run. The compiled programs hold the same code.
type Tape struct {
	seed, n uint64
	more    int
}

// NewTape starts the tape numbered run of the program.
func NewTape(seed uint64, run int) Tape { return Tape{seed: seed + uint64(run)*0x1000003} }

// Next returns a number below k.
func (t *Tape) Next(k int) int {
	t.n++
	z := t.seed + t.n*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int((z ^ z>>31) >> 1 % uint64(k))
}

// More reports whether a loop goes on; it says no for good after moreBudget times.
func (t *Tape) More() bool {
	if t.more++; t.more > moreBudget {
		return false
	}
	return t.Next(2) == 1
}

const moreBudget = 24
