//go:build lockrank

package lockrank

// goroutine returns where the runtime keeps the calling goroutine: a place that is its alone while it runs,
// and who ends with a mutex held leaves that locked for good. A stack tells a number that nobody else ever
// has, a hundred times as slowly.
func goroutine() uintptr
