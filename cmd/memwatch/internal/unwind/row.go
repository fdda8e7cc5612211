package unwind

import "slices"

// Registers by the numbers that the tables have for them.
const (
	RBX = 3
	RBP = 6
	RSP = 7
	R12 = 12
	R13 = 13
	R14 = 14
	R15 = 15

	returnColumn = 16 // the return address
	columns      = 17 // those beyond are of vectors and flags, which no frame is found by
)

// A Row says how to get from a function's registers to its caller's, at one address. It
// does not change.
type Row struct {
	frame  rule   // the caller's stack pointer after the return: the frame's address
	saved  []rule // registers that are not as they were in the caller
	signal bool
}

// What a rule says of a register, or of the frame's address.
const (
	same      = iota // it has the caller's value
	undefined        // the caller's value is gone; of the return address: there is no caller
	offset           // at the frame's address + n
	valOffset        // the frame's address + n
	register         // in register from, + n
	at               // where expr says
	value            // what expr says
)

type rule struct {
	kind uint8
	reg  uint8 // whose rule it is
	from uint8
	n    int64
	expr string
}

// keepsPointer reports whether the function keeps a frame pointer there as a walk by
// them takes it to: the caller's below the return address, and both below the frame.
func (r *Row) keepsPointer() bool {
	f := &r.frame
	return f.kind == register && f.from == RBP && f.n == 16 && !r.signal &&
		slices.Contains(r.saved, rule{kind: offset, reg: RBP, n: -16}) &&
		slices.Contains(r.saved, rule{kind: offset, reg: returnColumn, n: -8})
}
