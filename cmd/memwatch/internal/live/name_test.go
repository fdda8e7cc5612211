//go:build linux && (amd64 || arm64)

package live

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestScript names a program of Python by what it runs.
func TestScript(t *testing.T) {
	for line, want := range map[string]string{
		"python3 /src/train/finetune.py --lr 1":   "finetune.py",
		"python3 -u -X dev -W error train.py":     "train.py",
		"python3 -m torch.distributed.run t.py":   "-m torch.distributed.run",
		"python3 -c secret":                       "",
		"python3 -":                               "",
		"python3":                                 "",
		"python3 -m":                              "",
		"python3 " + strings.Repeat("x", 100):     strings.Repeat("x", 48),
		"python3 -m " + strings.Repeat("x", 4000): "-m " + strings.Repeat("x", 48),
	} {
		require.Equal(t, want, script(strings.Split(line, " ")), line)
	}
}
