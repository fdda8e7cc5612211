//go:build lockrank && !amd64

package lockrank

import (
	"bytes"
	"runtime"
	"strconv"
)

// goroutine returns the number of the calling goroutine, which the runtime gives nobody but those who print
// stacks.
func goroutine() int64 {
	var buf [64]byte
	s := bytes.TrimPrefix(buf[:runtime.Stack(buf[:], false)], []byte("goroutine "))
	n, err := strconv.ParseInt(string(s[:bytes.IndexByte(s, ' ')]), 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}
