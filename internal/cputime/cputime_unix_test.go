//go:build unix

package cputime_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/internal/cputime"
)

// Work counts, and waiting does not.
func TestProcess(t *testing.T) {
	begin := cputime.Process()
	require.Positive(t, begin)
	for cputime.Process() == begin { // asking is work too
	}
	begin = cputime.Process()
	time.Sleep(300 * time.Millisecond)
	require.Less(t, cputime.Process()-begin, 300*time.Millisecond, "nothing else runs in this process")
}
