package guard

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBearer(t *testing.T) {
	for header, want := range map[string]string{
		"Bearer x": "x", "bearer x": "x", "BEARER  x y": "x y", "Bearer": "", "Bearerx": "", "Basic x": "", "": "", " x": "",
	} {
		token, ok := Bearer(&http.Request{Header: http.Header{"Authorization": {header}}})
		require.Equal(t, want, token, header)
		require.Equal(t, want != "", ok, header)
	}
	require.True(t, Same("a", "a"))
	require.False(t, Same("a", "ab"))
	require.False(t, Same("", "a"))
}
