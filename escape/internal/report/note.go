package report

// A Note says what an instruction stands for in the source. The zero Note says nothing.
type Note struct {
	Kind Kind
	Name string // of the field, the variable or the function
	Of   string // the type that has the field, the element or the key; or the variable
}

// A Kind is what a Note is about.
type Kind uint8

const (
	Nothing Kind = iota // there is no note

	// What is read.
	Field        // a field: Name
	Part         // a part of a variable: Name is ".a.b"
	Element      // an element, or its address
	Slice        // a slice
	Address      // the address of a literal
	Pointee      // what a pointer leads to
	Iterated     // what a function yields
	Lent         // an operand of a literal that is lent
	CommaOK      // what an assertion gives that may fail
	MethodOfType // T.Method

	// What is made.
	Literal
	Made   // by make
	Struct // a variable that is followed field by field
	Bool   // true or false
	Put    // an array with another element
	Spread // a slice with all elements of another one

	// How it is stored.
	InField    // in field Name of an Of
	InPart     // in a field of the variable Of
	InElement  // in an element of an Of
	InVariable // in the package variable Name
	InKey      // as a key of an Of
	InPointee  // through a pointer
	InSlice    // by copy
	Somewhere  // nobody says where

	// How it is used.
	Cleared   // by clear
	Deleted   // by delete
	Joined    // by a goroutine that is joined
	Deferred  // by a deferred call
	NumberKey // as the key of a map, which is a number
	Looked    // only the handle is looked at
	HeldNames // deferred code mentions it if something panics
	HeldReads // deferred code reads it if something panics
	HeldFrees // deferred code frees it if something panics
)

// words are those of notes without a name.
var words = map[Kind]string{
	InPointee: "stored through a pointer",
	InSlice:   "copied into a slice",
	Somewhere: "stored",
	Joined:    "goroutine",
	Deferred:  "deferred call",
	Looked:    "only the handle is looked at",
	HeldNames: "mentioned by deferred code if something panics",
	HeldReads: "read by deferred code if something panics",
	HeldFrees: "freed by deferred code if something panics",
}

// String returns the words for how a buffer is stored or used.
func (n Note) String() string {
	switch n.Kind {
	case InField:
		return "stored in field " + n.Name + " of " + n.Of
	case InPart:
		return "stored in a field of " + n.Of
	case InElement:
		return "stored in an element of " + n.Of
	case InVariable:
		return "stored in package variable " + n.Name
	case InKey:
		return "stored as a key of " + n.Of
	}
	return words[n.Kind]
}

// Step returns the words for how the way of a buffer goes on there; "" if that is not said.
func (n Note) Step() string {
	switch n.Kind {
	case Field:
		return "its field " + n.Name + " is read"
	case Slice:
		return "a slice of it is taken"
	case Element:
		return "an element of it is taken"
	case Lent:
		return "lent to a function literal"
	}
	return "a part of it is read"
}
