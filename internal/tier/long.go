//go:build long

package tier

// Long says that long tests run.
const Long = true
