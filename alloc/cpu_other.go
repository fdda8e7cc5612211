//go:build !(linux && amd64)

package alloc

// cpu returns the number of the processor that the caller runs on, or -1 if it cannot be known.
func cpu() int { return -1 }
