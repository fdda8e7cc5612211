package built_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/internal/built"
)

func TestCommand(t *testing.T) {
	if testing.Short() {
		t.Skip("builds lastuse")
	}
	tool, err := built.Command("cmd/lastuse")
	require.NoError(t, err)
	out, err := exec.Command(tool, "help").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "lastuse ./...")
	before, err := os.Stat(tool)
	require.NoError(t, err)

	again, err := built.Command("cmd/lastuse")
	require.NoError(t, err)
	require.Equal(t, tool, again)
	after, err := os.Stat(tool)
	require.NoError(t, err)
	require.Equal(t, before.ModTime(), after.ModTime(), "it is linked once")
	_, err = built.Command("cmd/nothing")
	require.ErrorContains(t, err, "build cmd/nothing: exit status 1: ")
}
