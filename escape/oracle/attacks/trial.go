package main

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"golang.org/x/tools/txtar"
)

//go:embed testdata/kit testdata/ext testdata/own testdata/libs.txtar
var support embed.FS

// A trial is a module on disk:
//
//	go.mod, kit, own, ext   what programs stand on
//	libs               stand-ins for the libraries whose specs are embedded
//	progs/AREA/NAME    the programs, rewritten in place
//	all                a command that runs the program that it is told
type trial struct {
	dir   string
	progs []*Program
}

const goMod = `module attacks.test

go 1.26.0

require (
	cell.test v0.0.0
	ext.test v0.0.0
	github.com/apache/arrow-go/v18 v18.8.0
	github.com/gomlx/gopjrt v0.8.4
	github.com/lastuse/lastuse v0.0.0
	github.com/linxGnu/grocksdb v1.11.1
	github.com/sugarme/gotch v0.9.1
	github.com/stretchr/testify v1.12.1
	golang.org/x/sync v0.24.0
)

replace (
	cell.test => ./libs/cell
	ext.test => ./ext
	github.com/apache/arrow-go/v18 => ./libs/arrow
	github.com/gomlx/gopjrt => ./libs/pjrt
	github.com/linxGnu/grocksdb => ./libs/grocksdb
	github.com/sugarme/gotch => ./libs/gotch
)

replace github.com/lastuse/lastuse => %s
`

// newTrial writes the module.
func newTrial(dir, repo string, progs []*Program) (*trial, error) {
	repo, err := filepath.Abs(repo)
	if err != nil {
		return nil, err
	}
	sums, err := os.ReadFile(filepath.Join(repo, "go.sum"))
	if err != nil {
		return nil, err
	}
	files := map[string]string{
		"go.mod": fmt.Sprintf(goMod, repo), "go.sum": string(sums), "ext/go.mod": "module ext.test\n\ngo 1.26.0\n",
	}
	for _, name := range []string{"kit/kit.go", "ext/ext.go", "ext/lastuse.spec", "own/own.go"} {
		text, err := support.ReadFile("testdata/" + name)
		if err != nil {
			return nil, err
		}
		files[name] = string(text)
	}
	libs, err := support.ReadFile("testdata/libs.txtar")
	if err != nil {
		return nil, err
	}
	for _, f := range txtar.Parse(libs).Files {
		files[filepath.Join("libs", f.Name)] = string(f.Data)
	}
	t := &trial{dir: dir, progs: progs}
	for _, p := range progs {
		for name, text := range p.Files {
			files[filepath.Join("progs", p.Area, p.Name, name)] = text
		}
	}
	for name, text := range files {
		if err := write(filepath.Join(dir, name), text); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func write(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o644)
}

// environment is that of the go command in the module: what it needs is here.
func environment() []string {
	return append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod", "GOPROXY=off")
}

// command runs a command in the module; status says how it ended, 127 that it hung.
func (t *trial) command(
	ctx context.Context, limit time.Duration, name string, args ...string,
) (out string, status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = t.dir
	cmd.Env = environment()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return stdout.String(), 127, nil
	case errors.As(err, &exit):
		return stdout.String() + stderr.String(), exit.ExitCode(), nil
	}
	return stdout.String(), 0, err
}

// brokenLine finds the program that the compiler complains about.
var brokenLine = regexp.MustCompile(`(?m)^(?:\./|\.\./)?progs/(\S+?/\w+)/\S*\.go:\d+:\d+: .*$`)

// build builds one binary of all programs but those that do not compile, for which it tells
// the compiler's complaint.
func (t *trial) build(ctx context.Context, bin string) (broken map[string]string, err error) {
	broken = map[string]string{}
	for {
		if err := write(filepath.Join(t.dir, "all/main.go"), t.dispatch(broken)); err != nil {
			return nil, err
		}
		out, status, err := t.command(ctx, 10*time.Minute, "go", "build", "-ldflags=-s -w", "-o", bin, "./all")
		if err != nil {
			return nil, err
		}
		if status == 0 {
			return broken, nil
		}
		before := len(broken)
		for _, m := range brokenLine.FindAllStringSubmatch(out, -1) {
			if broken[m[1]] == "" {
				broken[m[1]] = m[0]
			}
		}
		if len(broken) == before {
			return nil, fmt.Errorf("go build: %s", out)
		}
	}
}

// dispatch is the text of the command that runs one program.
func (t *trial) dispatch(without map[string]string) string {
	var imports, table strings.Builder
	for i, p := range t.progs {
		at := p.Area + "/" + p.Name
		if without[at] == "" {
			fmt.Fprintf(&imports, "\tp%d \"attacks.test/progs/%s\"\n", i, at)
			fmt.Fprintf(&table, "\t%q: p%d.Main,\n", at, i)
		}
	}
	return "package main\n\nimport (\n\t\"os\"\n" + imports.String() +
		")\n\nvar programs = map[string]func(){\n" + table.String() +
		"}\n\nfunc main() { programs[os.Args[1]]() }\n"
}

// texts reads all programs as they are now.
func (t *trial) texts() (map[string]map[string]string, error) {
	all := map[string]map[string]string{}
	for _, p := range t.progs {
		at := p.Area + "/" + p.Name
		all[at] = map[string]string{}
		for name := range p.Files {
			text, err := os.ReadFile(filepath.Join(t.dir, "progs", at, name))
			if err != nil {
				return nil, err
			}
			all[at][name] = string(text)
		}
	}
	return all, nil
}
