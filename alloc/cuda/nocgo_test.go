//go:build !cgo || !linux

package cuda

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWithoutCgo(t *testing.T) {
	_, err := Open(0)
	require.ErrorIs(t, err, ErrUnavailable)
	assert.ErrorContains(t, err, "built without cgo")
	_, err = Devices()
	require.ErrorIs(t, err, ErrUnavailable)
}
