package alloc_test

import (
	"bufio"
	"bytes"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/internal/tier"
)

// TestThinShell builds a program with one element type and one with twenty: the binary holds one
// copy of the core, and each type adds little more than the calls of it.
func TestThinShell(t *testing.T) {
	if testing.Short() {
		t.Skip("builds two programs")
	}
	tier.Skip(t, "builds two programs")
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command: ", err)
	}
	text := func(program string) (all int64, core map[string]int) {
		bin := filepath.Join(t.TempDir(), program)
		out, err := exec.Command(tool, "build", "-o", bin, "./testdata/"+program).CombinedOutput()
		require.NoError(t, err, "%s", out)
		nm, err := exec.Command(tool, "tool", "nm", "-size", bin).Output()
		require.NoError(t, err)
		core = make(map[string]int)
		for lines := bufio.NewScanner(bytes.NewReader(nm)); lines.Scan(); {
			f := strings.Fields(lines.Text()) // address size kind name
			if len(f) < 4 || f[2] != "T" && f[2] != "t" {
				continue
			}
			size, err := strconv.ParseInt(f[1], 10, 64)
			require.NoError(t, err)
			if name := f[3]; strings.Contains(name, "lastuse/alloc.") {
				all += size
				for _, fn := range []string{"makeBlock", "climb", "copyFrom", "release", "grab"} {
					if strings.HasSuffix(name, ")."+fn) || strings.HasSuffix(name, "."+fn) {
						core[name]++
					}
				}
			}
		}
		return all, core
	}
	one, coreOne := text("one")
	twenty, coreTwenty := text("twenty")
	each := (twenty - one) / 19
	t.Logf("%d bytes of text with one type, %d with twenty: %d for each", one, twenty, each)
	assert.NotEmpty(t, coreOne)
	assert.Equal(t, coreOne, coreTwenty, "one copy of the core")
	assert.LessOrEqual(t, each, int64(1024))
}
