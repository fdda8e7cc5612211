//go:build amd64 || arm64

package books

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReturnPCs follows frame pointers to the end of every stack, and no further than there is room.
func TestReturnPCs(t *testing.T) {
	for _, depth := range []int{0, 1, 100} {
		deep(depth, func() {
			var room, few [200]uintptr
			n := returnPCs(&room[0], len(room))
			require.Greater(t, n, depth, "not lost")
			require.Less(t, n, len(room))
			require.Equal(t, 2, returnPCs(&few[0], 2))
			require.NotZero(t, few[1])
			require.Zero(t, few[2])
		})
	}
}
