package escape_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Runs over other people's modules, only when asked for, since they need the
// network and minutes:
//
//	go test ./escape -run EverythingInModules -timeout 1h -modules=golang.org/x/tools@v0.52.0,my.org/x=/src/x
//	go test ./escape -run Mutation -modules=… -packages=./arrow/array/...
//
// -sdk=false uses the C and C++ compilers as they are. By default small wrappers
// stand in for them (testdata/sdk), so that libraries type-check whose native
// SDK is not installed; what calls such a library cannot run, so -test then makes
// no sense for them.
var (
	modules  = flag.String("modules", "", "run over `module@version` or module=folder, comma-separated")
	subset   = flag.String("packages", "./...", "`patterns` of the packages of each module, separated by spaces")
	sdk      = flag.Bool("sdk", true, "let wrappers stand in for the native SDKs of libraries")
	runTests = flag.Bool("test", false, "run the tests of changed packages before and after -fix")
	findings = flag.String("findings", "", "write what lastuse says of each module to a `folder`")
)

// A checkout is a copy of a module that may be changed.
type checkout struct {
	t       *testing.T
	name    string // module@version
	dir     string
	lastuse string // the command
	env     []string
}

// checkouts copies the modules that -modules names.
func checkouts(t *testing.T) []*checkout {
	if *modules == "" {
		t.Skip("no module is named: ask with -modules=module@version")
	}
	bin := filepath.Join(t.TempDir(), "lastuse")
	out, err := exec.Command("go", "build", "-o", bin, "../cmd/lastuse").CombinedOutput()
	require.NoError(t, err, "%s", out)
	env := append(os.Environ(), "GOFLAGS=-mod=mod -trimpath", "GOWORK=off")
	if *sdk {
		wrappers, err := filepath.Abs("testdata/sdk")
		require.NoError(t, err)
		env = append(env, "CC="+wrappers+"/cc", "CXX="+wrappers+"/cxx", "PKG_CONFIG="+wrappers+"/pkg-config")
	}
	var all []*checkout
	for m := range strings.SplitSeq(*modules, ",") {
		name, from, local := strings.Cut(m, "=")
		if !local {
			cmd := exec.Command("go", "mod", "download", "-json", m)
			cmd.Dir = t.TempDir()
			out, err := cmd.Output()
			require.NoError(t, err, "%s", out)
			var info struct{ Dir, Error string }
			require.NoError(t, json.Unmarshal(out, &info))
			require.Empty(t, info.Error)
			from = info.Dir
		}
		c := &checkout{t: t, name: name, dir: filepath.Join(t.TempDir(), "m"), lastuse: bin, env: env}
		require.NoError(t, os.CopyFS(c.dir, os.DirFS(from)))
		require.NoError(t, filepath.WalkDir(c.dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.Type()&fs.ModeSymlink != 0 {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			return os.Chmod(path, info.Mode().Perm()|0o200)
		}))
		all = append(all, c)
	}
	return all
}

// run runs the command in the module; an exit status beside those given fails.
func (c *checkout) run(t *testing.T, want []int, args ...string) (stdout, stderr string) {
	t.Helper()
	cmd := exec.Command(c.lastuse, append(args, strings.Fields(*subset)...)...)
	cmd.Dir, cmd.Env = c.dir, c.env
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	require.True(t, err == nil || cmd.ProcessState.Exited(), "%v", err)
	require.Contains(t, want, cmd.ProcessState.ExitCode(), "lastuse %s: %s", strings.Join(args, " "), errs.String())
	if *findings != "" {
		name := strings.NewReplacer("/", "_", "@", "_").Replace(c.name) + "_" + strings.TrimLeft(strings.Join(append(args, "report")[:1], ""), "-")
		require.NoError(t, os.MkdirAll(*findings, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(*findings, name+".txt"), []byte(out.String()+"\n"+errs.String()), 0o644))
	}
	return out.String(), errs.String()
}

// goFiles returns the contents of all Go files.
func (c *checkout) goFiles(t *testing.T) map[string]string {
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(c.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasSuffix(path, ".go") {
			src, err := os.ReadFile(path)
			files[path] = string(src)
			return err
		}
		return err
	}))
	return files
}

var testLine = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)|^FAIL\s+(\S+)`)

// failing runs tests and returns the names of those that fail.
func (c *checkout) failing(t *testing.T, packages []string) []string {
	cmd := exec.Command("go", append([]string{"test", "-vet=off", "-count=1"}, packages...)...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod -trimpath", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	failed := map[string]bool{}
	for _, m := range testLine.FindAllStringSubmatch(string(out), -1) {
		failed[m[1]+m[2]] = true
	}
	require.NotEmpty(t, failed, "%s", out)
	return slices.Sorted(maps.Keys(failed))
}

// TestEverythingInModules applies the rewriter to every package of modules that
// were not written for it: each edit type-checks, no plan is withdrawn, a second
// run changes nothing, and tests that passed before pass after.
func TestEverythingInModules(t *testing.T) {
	for _, c := range checkouts(t) {
		t.Run(c.name, func(t *testing.T) {
			_, summary := c.run(t, []int{0, 1, 3})
			t.Logf("before: %s", lastLine(summary))
			require.NotContains(t, summary, "internal error")
			before := c.goFiles(t)

			_, said := c.run(t, []int{0, 1, 3}, "-fix")
			t.Logf("-fix: %s", lastLine(said))
			for line := range strings.Lines(said) {
				if strings.Contains(line, "is left as it is") || strings.Contains(line, "please report") {
					t.Log(line)
				}
			}
			require.NotContains(t, said, "does not compile", "an edit does not type-check")
			after := c.goFiles(t)
			changed := map[string]bool{}
			for name, src := range after {
				if before[name] != src {
					rel, err := filepath.Rel(c.dir, filepath.Dir(name))
					require.NoError(t, err)
					changed["./"+filepath.ToSlash(rel)] = true
				}
			}

			patch, said := c.run(t, []int{0, 1}, "-diff")
			require.Empty(t, patch, "a second run changes something: %s", said)
			// A package that type-checked before does so after.
			require.Equal(t, unanalyzed(summary), unanalyzed(said))

			packages := slices.Sorted(maps.Keys(changed))
			t.Logf("%d packages changed: %s", len(packages), strings.Join(packages, " "))
			if !*runTests || len(packages) == 0 {
				return
			}
			failed := c.failing(t, packages)
			if len(failed) == 0 {
				return
			}
			for name, src := range before {
				require.NoError(t, os.WriteFile(name, []byte(src), 0o644))
			}
			require.Equal(t, c.failing(t, packages), failed, "-fix makes other tests fail")
		})
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// unanalyzed lists the packages that a run says it left out.
func unanalyzed(said string) []string {
	var out []string
	for line := range strings.Lines(said) {
		if name, _, ok := strings.Cut(line, " is not analyzed:"); ok {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
