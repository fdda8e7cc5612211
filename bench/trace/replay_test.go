package trace

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSteps: places are few, one at a time belongs to one buffer, and all is freed at the end.
func TestSteps(t *testing.T) {
	s := (&Trace{Events: []Event{{Ptr: 1, Size: 10}, {Ptr: 2, Size: 20, Stream: 3}, {Free: true, Ptr: 1},
		{Ptr: 3, Size: 30}, {Free: true, Ptr: 9}, {Ptr: 1, Size: 40}}}).Steps()
	require.Equal(t, []Step{{0, 0, 10}, {1, 3, 20}, {0, 0, -1}, {0, 0, 30}, {2, 0, 40}, {2, 0, -1}, {1, 3, -1},
		{0, 0, -1}}, s.All)
	require.Equal(t, []int{3, 4, 90}, []int{s.Places, s.Streams, int(s.Peak())})
}
