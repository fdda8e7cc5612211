package main

import (
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	dir := t.TempDir()
	var out strings.Builder
	require.NoError(t, run(&out, options{size: 96, radius: 3, folder: dir}))
	// Four planes of 36 KiB, however many steps.
	assert.Contains(t, out.String(), "7 steps on 3 planes of 36 KiB")
	assert.Contains(t, out.String(), "0 B live now")
	for _, name := range []string{"before.png", "after.png"} {
		f, err := os.Open(filepath.Join(dir, name))
		require.NoError(t, err)
		img, err := png.Decode(f)
		f.Close()
		require.NoError(t, err)
		assert.Equal(t, 96, img.Bounds().Dx())
		// A disc's edge is sharp before and soft after: neighbours differ by less.
		most := 0
		for x := 1; x < 96; x++ {
			a, _, _, _ := img.At(x-1, 48).RGBA()
			b, _, _, _ := img.At(x, 48).RGBA()
			most = max(most, max(int(a)-int(b), int(b)-int(a))>>8)
		}
		if name == "before.png" {
			assert.Greater(t, most, 100)
		} else {
			assert.Less(t, most, 90)
		}
	}
	assert.Error(t, run(&out, options{size: 0}))
}
