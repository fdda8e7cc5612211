package alloc

// cpu returns the number of the processor that the caller runs on, or -1 if it cannot be known.
// The caller may run on another one by the time it looks at the answer.
func cpu() int
