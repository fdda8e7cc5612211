package apply

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHunks(t *testing.T) {
	for _, tt := range []struct{ name, old, new, want string }{
		{"nothing", "a\nb\n", "a\nb\n", ""},
		{"insert", "a\nb\nc\nd\ne\nf\ng\nh\n", "a\nb\nc\nd\nX\ne\nf\ng\nh\n", "@@ -2,6 +2,7 @@\n b\n c\n d\n+X\n e\n f\n g\n"},
		{"insert into nothing", "", "a\n", "@@ -0,0 +1 @@\n+a\n"},
		{"delete all", "a\n", "", "@@ -1 +0,0 @@\n-a\n"},
		{"replace", "a\nb\nc\n", "a\nX\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+X\n c\n"},
		{"no newline", "a\nb", "a\nX\nb", "@@ -1,2 +1,3 @@\n a\n+X\n b\n\\ No newline at end of file\n"},
		{"newline added", "a", "a\n", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"},
		// the same closing lines twice must not be deleted and inserted again
		{"twin lines", "if {\nreturn\n}\nend\n", "if {\nfree\nreturn\n}\nfree\nend\n", "@@ -1,4 +1,6 @@\n if {\n+free\n return\n }\n+free\n end\n"},
		{"joined hunks", "a\n1\n2\n3\n4\n5\n6\nb\n", "A\n1\n2\n3\n4\n5\n6\nB\n", "@@ -1,8 +1,8 @@\n-a\n+A\n 1\n 2\n 3\n 4\n 5\n 6\n-b\n+B\n"},
		{"two hunks", "a\n1\n2\n3\n4\n5\n6\n7\nb\n", "A\n1\n2\n3\n4\n5\n6\n7\nB\n", "@@ -1,4 +1,4 @@\n-a\n+A\n 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-b\n+B\n"},
	} {
		require.Equal(t, tt.want, string(hunks([]byte(tt.old), []byte(tt.new))), tt.name)
	}
}

// FuzzHunks: the runs of a difference rebuild both texts, and no way with fewer
// changed lines exists, which a table of all ways shows.
func FuzzHunks(f *testing.F) {
	f.Add("a\nb\nc\n", "b\nc\na\n")
	f.Add("x\nx\ny\nx\n", "x\ny\nx\nx")
	f.Add("", "\n\n")
	f.Fuzz(func(t *testing.T, old, new string) {
		if len(old) > 200 || len(new) > 200 {
			return
		}
		a, b := splitLines([]byte(old)), splitLines([]byte(new))
		var gotA, gotB []byte
		changes := 0
		for _, r := range lineDiff(a, b) {
			require.Equal(t, len(gotA), len(bytes.Join(a[:r.a], nil)))
			require.Equal(t, len(gotB), len(bytes.Join(b[:r.b], nil)))
			gotA = append(gotA, bytes.Join(a[r.a:r.a+r.aLen], nil)...)
			gotB = append(gotB, bytes.Join(b[r.b:r.b+r.bLen], nil)...)
			if r.common {
				require.Equal(t, a[r.a:r.a+r.aLen], b[r.b:r.b+r.bLen])
			} else {
				changes += r.aLen + r.bLen
			}
		}
		require.Equal(t, old, string(gotA))
		require.Equal(t, new, string(gotB))

		best := make([][]int, len(a)+1)
		for i := range best {
			best[i] = make([]int, len(b)+1)
			for j := range best[i] {
				switch {
				case i == 0 || j == 0:
					best[i][j] = i + j
				case bytes.Equal(a[i-1], b[j-1]):
					best[i][j] = best[i-1][j-1]
				default:
					best[i][j] = 1 + min(best[i-1][j], best[i][j-1])
				}
			}
		}
		require.Equal(t, best[len(a)][len(b)], changes)
	})
}

// TestHunksApply lets git apply patches of awkward texts.
func TestHunksApply(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	texts := []string{"", "a\n", "a", "a\r\nb\r\n", "x\ny\nx\ny\nx", strings.Repeat("line\n", 40), strings.Repeat("line\n", 20) + "new\n" + strings.Repeat("line\n", 20)}
	for i, old := range texts {
		for j, new := range texts {
			if i == j || old == "" || new == "" {
				continue // git spells files that appear and vanish otherwise
			}
			dir := t.TempDir()
			name := filepath.Join(dir, "f.go")
			require.NoError(t, os.WriteFile(name, []byte(old), 0o644))
			cmd := exec.Command("git", "apply", "-")
			cmd.Dir = dir
			cmd.Stdin = bytes.NewReader(Patch(&Output{File: name, Old: []byte(old), New: []byte(new)}, dir))
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%d to %d: %s", i, j, out)
			got, err := os.ReadFile(name)
			require.NoError(t, err)
			require.Equal(t, new, string(got), "%d to %d", i, j)
		}
	}
}
