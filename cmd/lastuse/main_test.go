package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/internal/tier"
)

// The scripts run the command as a process of its own. markuse is the same
// command around an analyzer that wants exactly the edits that comments ask for,
// good or bad: see marks_test.go.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"lastuse": main,
		"markuse": func() {
			dir, err := os.Getwd()
			if err != nil {
				panic(err)
			}
			os.Exit(run(context.Background(), marks, dir, os.Stdout, os.Stderr, os.Args[1:]))
		},
	})
}

func TestScript(t *testing.T) {
	out, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output()
	require.NoError(t, err)
	dirs := strings.Fields(string(out))
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("GOCACHE", dirs[0])
			env.Setenv("GOMODCACHE", dirs[1])
			env.Setenv("GOPROXY", "off")
			env.Setenv("GOFLAGS", "-mod=mod")
			env.Setenv("GONOSUMDB", "*")
			env.Setenv("GONOSUMCHECK", "1")
			env.Setenv("GOTOOLCHAIN", "local")
			env.Setenv("GOWORK", "off")
			env.Setenv("ROOT", root)
			return nil
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "long":
				return tier.Long, nil
			case "root":
				return os.Getuid() == 0, nil
			case "mount":
				return exec.Command("unshare", "-m", "true").Run() == nil, nil
			case "cgo":
				out, err := exec.Command("go", "env", "CGO_ENABLED", "CC").Output()
				if err != nil {
					return false, err
				}
				f := strings.Fields(string(out))
				if len(f) < 2 || f[0] != "1" {
					return false, nil
				}
				_, err = exec.LookPath(f[1])
				return err == nil, nil
			}
			return false, nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"status": status,
			"crlf":   crlf,
			"count":  count1,
		},
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
	})
}

// status runs a command and demands an exit status: status 3 lastuse ./...
// Its output is seen by stdout and stderr as after exec.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status CODE PROGRAM ARGS...")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := "0"
	if err != nil {
		code = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if code != args[0] {
		ts.Fatalf("want exit status %s, got %s\nstdout:\n%s\nstderr:\n%s", args[0], code, ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

// crlf gives files the line ends of Windows.
func crlf(ts *testscript.TestScript, neg bool, args []string) {
	for _, name := range args {
		text := strings.ReplaceAll(ts.ReadFile(name), "\n", "\r\n")
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o644))
	}
}

// count1 demands how often a text stands in a file: count N FILE TEXT.
func count1(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: count N FILE TEXT")
	}
	text := ts.ReadFile(args[1])
	if n := strings.Count(text, args[2]); args[0] != string(rune('0'+n)) {
		ts.Fatalf("%s stands %d times in %s, want %s:\n%s", args[2], n, args[1], args[0], text)
	}
}
