// Package tutorial holds a test that does what docs/tutorial.md tells its reader to do.
package tutorial

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/internal/built"
	"github.com/lastuse/lastuse/internal/tier"
)

// block is a block of code on the page, or the name of the file that the next one is.
var block = regexp.MustCompile("(?s)`([a-z]+\\.go)`:\n\n```go\n(.*?)```|```console\n(.*?)```|```diff\n(.*?)```")

// A reader follows the page in a module of their own that takes lastuse from this tree.
type reader struct {
	*testing.T
	dir, tool string
}

// run runs a command of the page and returns what it printed.
func (r *reader) run(name string, args ...string) string {
	cmd := exec.Command(name, args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod", "CUDA_VISIBLE_DEVICES=")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 { // 3 is what lastuse has found
		require.NoError(r, err, "%s %s: %s", name, strings.Join(args, " "), out)
	}
	return string(out)
}

// TestTutorial writes the page's files in its order, runs what it runs, and looks for what it says was
// printed.
func TestTutorial(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs: seconds")
	}
	tier.Skip(t, "builds the tool, and programs")
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	page, err := os.ReadFile(filepath.Join(root, "docs", "tutorial.md"))
	require.NoError(t, err)
	tool, err := built.Command("cmd/lastuse")
	require.NoError(t, err)
	r := &reader{t, t.TempDir(), tool}
	r.module(root)

	files, commands := 0, 0
	for _, m := range block.FindAllStringSubmatch(string(page), -1) {
		switch {
		case m[1] != "":
			require.NoError(t, os.WriteFile(filepath.Join(r.dir, m[1]), []byte(m[2]), 0o666))
			files++
		case m[3] != "":
			commands += r.console(m[3])
		default:
			text, err := os.ReadFile(filepath.Join(r.dir, "frames.go"))
			require.NoError(t, err)
			written := regexp.MustCompile(`(?m)^[+ ]`).ReplaceAllString(m[4], "")
			require.Contains(t, string(text), written, "what -fix has written")
		}
	}
	require.Equal(t, []int{6, 7}, []int{files, commands}, "files and commands of the page")
}

// module makes the module, with the tree's own requirements, so that nothing has to be resolved.
func (r *reader) module(root string) {
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(r, err)
	_, rest, _ := strings.Cut(string(mod), "\n")
	text := fmt.Sprintf("module example.com/frames\n%s\nrequire github.com/lastuse/lastuse v0.0.0\n\n"+
		"replace github.com/lastuse/lastuse => %q\n", rest, root)
	require.NoError(r, os.WriteFile(filepath.Join(r.dir, "go.mod"), []byte(text), 0o666))
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	require.NoError(r, err)
	require.NoError(r, os.WriteFile(filepath.Join(r.dir, "go.sum"), sum, 0o666))
}

// console runs the commands of a block, and returns how many there were. What it shows below each must be
// printed: a line of three points stands for any lines, and of what no frees leave behind the figures are
// other ones each time.
func (r *reader) console(text string) (commands int) {
	for part := range strings.SplitSeq("\n"+text, "\n$ ") {
		command, shown, _ := strings.Cut(part, "\n")
		var printed string
		switch fields := strings.Fields(command); {
		case command == "":
			continue
		case strings.HasSuffix(command, "go run ."):
			printed = r.run("go", "run", ".")
		case fields[0] == "lastuse":
			printed = r.run(r.tool, fields[1:]...)
		case strings.HasPrefix(command, "go install"): // of a version that is published
			continue
		default:
			r.Fatalf("nobody knows how to run %q", command)
		}
		commands++
		leaks := regexp.MustCompile(`peak [0-9]{3} MiB, live at the end [0-9]+ MiB`)
		for _, piece := range strings.Split(leaks.ReplaceAllString(shown, "…"), "…") {
			require.Contains(r, printed, strings.TrimSpace(piece), command)
		}
	}
	return commands
}
