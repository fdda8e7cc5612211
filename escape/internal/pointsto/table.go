package pointsto

// A Relation says what a value is to the buffer of a token. Relations are bits: a value
// may be several things, as paths meet.
type Relation uint8

const (
	Whole     Relation = 1 << iota // the handle
	View                           // shares its memory, owns nothing
	Holder                         // leads to the handle: an interface, a slice, a variable in memory
	Maybe                          // perhaps the handle: what a holder gave
	Number                         // has its address as a number or a string, or is that
	Dependent                      // needs it, and is freed by itself: a header, a graph that was captured
)

// An Op is what an instruction does to an operand.
type Op uint8

const (
	Read   Op = iota // looks at it, or hands it to a call that borrows it
	Free             // a call frees it
	Later            // a deferred call will free it
	Last             // a deferred call will free what it is then
	Await            // a deferred call will read it
	Copy             // the same value again: a phi, a changed type, a result that is an operand
	Part             // something of it: a field, an element, an address, a result that views it
	Depend           // makes something of it that is owned by itself
	Wrap             // puts it into something local that leads to it
	Unwrap           // takes out what may be it
	Count            // reads a number or a string in it
	Put              // puts it into a collection, or makes that larger
	Turn             // becomes a variable that changes places with others
	Grow             // puts something into a slice, in a slot that is not a collection's
	Tell             // makes a number or a string of it that is an address
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
	Hand             // a collection has it from then on, and what it was is a view of that
)

// An Entry is what an operation does to an operand of one relation.
type Entry struct {
	Do Do
	As Relation // of Derive
}

// table is all that is known of operations. What is not in it moves.
var table = [ops]map[Relation]Entry{
	Read:  all(Entry{Do: Use}),
	Free:  {Whole: {Do: End}, Dependent: {Do: Use}},
	Later: {Whole: {Do: Pend}, Dependent: {Derive, View}},
	Last:  all(Entry{Do: Use}),
	Await: {Whole: {Derive, View}, View: {Derive, View}, Holder: {Derive, Holder}, Maybe: {Derive, View},
		Number: {Derive, Number}, Dependent: {Derive, View}},
	Copy: {Whole: {Derive, Whole}, View: {Derive, View}, Holder: {Derive, Holder}, Maybe: {Derive, Maybe},
		Number: {Derive, Number}, Dependent: {Derive, Dependent}},
	Part: {Whole: {Derive, View}, View: {Derive, View}, Holder: {Derive, Maybe}, Maybe: {Derive, View},
		Number: {Derive, Number}, Dependent: {Derive, View}},
	Wrap: {Whole: {Derive, Holder}, View: {Derive, View}, Holder: {Derive, Holder}, Maybe: {Derive, Holder},
		Number: {Derive, Number}, Dependent: {Derive, View}},
	Unwrap: {Whole: {Derive, Maybe}, View: {Derive, View}, Holder: {Derive, Maybe}, Maybe: {Derive, Maybe},
		Number: {Derive, Number}, Dependent: {Derive, View}},
	Depend: {Whole: {Derive, Dependent}, View: {Derive, Dependent}, Holder: {Derive, Dependent},
		Maybe: {Derive, Dependent}, Number: {Derive, Number}, Dependent: {Derive, Dependent}},
	Count: {Whole: {Do: Use}, View: {Do: Use}, Holder: {Do: Use}, Maybe: {Do: Use}, Number: {Derive, Number},
		Dependent: {Do: Use}},
	Tell: all(Entry{Derive, Number}),
	Put:  {Whole: {Hand, Whole}},
	Turn: {Whole: {Hand, Whole}},
}

// all is what an operation does whatever the relation.
func all(e Entry) map[Relation]Entry {
	return map[Relation]Entry{Whole: e, View: e, Holder: e, Maybe: e, Number: e, Dependent: e}
}

// Does returns what op does to an operand that may be related in several ways: one thing,
// if that is the same for all, as deriving is a use, else it moves.
func Does(op Op, rel Relation) Entry {
	var sum Entry
	first := true
	for r := Whole; r <= Dependent; r <<= 1 {
		if rel&r == 0 {
			continue
		}
		e := table[op][r]
		switch {
		case first || e.Do == sum.Do:
			sum.Do = e.Do
		case e.Do == Derive && sum.Do == Use || e.Do == Use && sum.Do == Derive:
			sum.Do = Derive
		default:
			return Entry{Do: Move}
		}
		sum.As, first = sum.As|e.As, false
	}
	return sum
}
