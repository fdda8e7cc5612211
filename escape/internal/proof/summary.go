package proof

// A Summary is what a function does to each operand and where each result comes from,
// as far as the proof found out from its body. It is a fact for other packages.
type Summary struct {
	Params  []Param // the receiver first
	Results []Result
}

// AFact makes Summary an analysis.Fact.
func (*Summary) AFact() {}

// A Param is what a function does to one operand.
type Param struct {
	Keeps      bool // it, or what it leads to, may be held by somebody after the call
	Frees      bool // it, or what it leads to, may be freed
	Repeatable bool // freeing it again is harmless
	Silent     bool // freeing it does nothing else
	Stores     bool // what it leads to may be given another value
	NilOK      bool // nil, or the zero value, does nothing
}

// A Result is what a function returns at one place.
type Result struct {
	Owned   bool  // it is owned by the caller, or zero
	Zero    bool  // it may be zero although the call succeeded
	Derived []int // of these operands it may hold a part
	Known   bool  // it holds nothing but what Owned and Derived say
}
