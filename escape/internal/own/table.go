package own

// A Relation says what a value is to the buffer of a token. Relations are bits: a value
// may be several things, as paths meet.
type Relation uint8

const (
	Whole  Relation = 1 << iota // the handle
	View                        // shares its memory, owns nothing
	Holder                      // leads to the handle: an interface, a slice, a variable in memory
	Maybe                       // perhaps the handle: what a holder gave
)

// An Op is what an instruction does to an operand.
type Op uint8

const (
	Read   Op = iota // looks at it, or hands it to a call that borrows it
	Free             // a call frees it
	Later            // a deferred call will free it
	Await            // a deferred call will read it
	Copy             // the same value again: a phi, a changed type, a result that is an operand
	Part             // something of it: a field, an element, an address, a result that views it
	Wrap             // puts it into something local that leads to it
	Unwrap           // takes out what may be it
	Leave            // returns it
	Keep             // all else: stores, sends, captures, calls of which nothing is known
	ops    = iota
)

// A Do is what an operation means for the buffer.
type Do uint8

const (
	Move   Do = iota // it is not ours any more: it escapes, or is handed on
	Use              // it is needed here
	End              // it is freed
	Pend             // it will be freed when the function ends
	Derive           // a use, and the value that is made has the relation that stands beside
)

// An entry is what an operation does to an operand of one relation.
type entry struct {
	do Do
	as Relation // of Derive
}

// table is all that is known of operations. What is not in it moves.
var table = [ops]map[Relation]entry{
	Read:   {Whole: {do: Use}, View: {do: Use}, Holder: {do: Use}, Maybe: {do: Use}},
	Free:   {Whole: {do: End}},
	Later:  {Whole: {do: Pend}},
	Await:  {Whole: {do: Use}, View: {do: Use}, Holder: {do: Use}, Maybe: {do: Use}},
	Copy:   {Whole: {Derive, Whole}, View: {Derive, View}, Holder: {Derive, Holder}, Maybe: {Derive, Maybe}},
	Part:   {Whole: {Derive, View}, View: {Derive, View}, Holder: {Derive, Maybe}, Maybe: {Derive, View}},
	Wrap:   {Whole: {Derive, Holder}, View: {Derive, View}, Holder: {Derive, Holder}, Maybe: {Derive, Holder}},
	Unwrap: {Whole: {Derive, Maybe}, View: {Derive, View}, Holder: {Derive, Maybe}, Maybe: {Derive, Maybe}},
}

// does returns what op does to an operand that may be related in several ways: one thing,
// if that is the same for all, else it moves.
func does(op Op, rel Relation) entry {
	var sum entry
	first := true
	for r := Whole; r <= Maybe; r <<= 1 {
		if rel&r == 0 {
			continue
		}
		e := table[op][r]
		if !first && e.do != sum.do {
			return entry{do: Move}
		}
		sum.do, sum.as, first = e.do, sum.as|e.as, false
	}
	return sum
}
