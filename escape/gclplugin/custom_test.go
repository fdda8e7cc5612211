package gclplugin_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"
)

// Building a golangci-lint needs the network, and minutes:
//
//	go test ./escape/gclplugin -run CustomBinary -timeout 30m -golangci=v2.15.0
//
// "golangci-lint custom" clones its own repository; here the clone is of a
// repository with the sources that the module proxy has of that version.
var golangci = flag.String("golangci", "", "build a custom golangci-lint of this `version` and run it")

// TestCustomBinary does what docs/ci.md says: it builds the custom binary, runs it
// on a module with findings and applies the fixes.
func TestCustomBinary(t *testing.T) {
	if *golangci == "" {
		t.Skip("no version is named: ask with -golangci=VERSION")
	}
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	ar, err := txtar.ParseFile("testdata/app.txtar")
	require.NoError(t, err)
	app, home, bin := t.TempDir(), t.TempDir(), t.TempDir()
	var want string
	for _, f := range ar.Files {
		if f.Name == "want.txt" {
			want = string(f.Data)
			continue
		}
		name := filepath.Join(app, f.Name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		text := strings.NewReplacer("VERSION", *golangci, "ROOT", root).Replace(string(f.Data))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	}

	const module = "github.com/golangci/golangci-lint/v2"
	var sources struct{ Dir string }
	require.NoError(t, json.Unmarshal([]byte(output(t, home, nil, "go", "mod", "download", "-json", module+"@"+*golangci)), &sources))
	repo := filepath.Join(home, "repo")
	require.NoError(t, os.CopyFS(repo, os.DirFS(sources.Dir)))
	for _, words := range []string{"init -q", "add -A -f", "-c user.name=x -c user.email=x commit -qm " + *golangci, "tag " + *golangci} {
		output(t, repo, nil, "git", strings.Fields(words)...)
	}
	require.NoError(t, os.WriteFile(filepath.Join(home, ".gitconfig"),
		[]byte("[url \"file://"+repo+"\"]\n\tinsteadOf = https://github.com/golangci/golangci-lint.git\n"), 0o644))
	var dirs []string // they hang on HOME, which gets another value
	for _, name := range []string{"GOPATH", "GOMODCACHE", "GOCACHE", "GOENV"} {
		dirs = append(dirs, name+"="+strings.TrimSpace(output(t, home, nil, "go", "env", name)))
	}
	output(t, home, []string{"GOBIN=" + bin}, "go", "install", module+"/cmd/golangci-lint@"+*golangci)

	output(t, app, append(dirs, "HOME="+home), filepath.Join(bin, "golangci-lint"), "custom")
	custom := filepath.Join(app, "custom-gcl")
	cache := "GOLANGCI_LINT_CACHE=" + t.TempDir()
	run := func(status int, words ...string) string {
		cmd := exec.Command(custom, append(append([]string{"run"}, words...), "./...")...)
		cmd.Dir, cmd.Env = app, append(os.Environ(), cache)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		err := cmd.Run()
		require.NotNil(t, cmd.ProcessState, "%v", err)
		require.Equal(t, status, cmd.ProcessState.ExitCode(), "%s%s", out.String(), errs.String())
		return out.String()
	}
	for _, line := range strings.Split(strings.TrimSpace(want), "\n") {
		require.Contains(t, run(1), line+"\n")
	}
	require.Contains(t, run(1), "2 issues:\n")
	require.Contains(t, run(0, "--fix"), "0 issues.")
	output(t, app, nil, "go", "vet", "./...")
	require.Contains(t, run(0), "0 issues.", "a second run")
}

// output runs a command that must succeed and returns what it prints.
func output(t *testing.T, dir string, env []string, name string, words ...string) string {
	t.Helper()
	cmd := exec.Command(name, words...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	require.NoError(t, cmd.Run(), "%s %s: %s%s", name, strings.Join(words, " "), out.String(), errs.String())
	return out.String()
}
