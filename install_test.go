package lastuse_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	version "golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"github.com/lastuse/lastuse/internal/tier"
)

// published is the latest version in the changelog, as the proxy of TestInstall has it.
const published = "v0.1.0"

// TestInstall does what the README begins with, from a proxy that has the commit that is checked out as the
// latest version: it installs the commands, takes the module into an empty one, and runs lastuse there.
func TestInstall(t *testing.T) {
	tier.Skip(t, "builds the commands as users do")
	if out, err := exec.Command("git", "rev-parse", "HEAD").CombinedOutput(); err != nil {
		t.Skipf("what is published is a commit, and here is none: %s", out)
	}
	proxy, bin, home := t.TempDir(), t.TempDir(), t.TempDir()
	publish(t, proxy)
	cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
	require.NoError(t, err)
	env := append(os.Environ(), "GOPROXY=file://"+proxy+",file://"+strings.TrimSpace(string(cache))+"/cache/download",
		"GOMODCACHE="+t.TempDir(), "GOBIN="+bin, "GOFLAGS=-modcacherw", "GOSUMDB=off", "GOWORK=off", "GONOPROXY=", "GOPRIVATE=")
	run := func(name string, words ...string) string {
		cmd := exec.Command(name, words...)
		cmd.Dir, cmd.Env = home, env
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s %s: %s", name, strings.Join(words, " "), out)
		return string(out)
	}

	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	for _, command := range []string{"lastuse", "memwatch"} {
		install := "go install github.com/lastuse/lastuse/cmd/" + command + "@latest"
		require.Contains(t, strings.Join(strings.Fields(string(readme)), " "), install)
		run("go", strings.Fields(install)[1:]...)
		require.Contains(t, run("go", "version", "-m", filepath.Join(bin, command)), "\tmod\t"+module+"\t"+published)
	}

	run("go", "mod", "init", "example.com/app")
	require.NoError(t, os.WriteFile(filepath.Join(home, "main.go"), []byte(app), 0o666))
	run("go", "get", module+"@latest")
	run("go", "mod", "tidy")
	require.Equal(t, "4194304 bytes live\n", run("go", "run", "."))
	run(filepath.Join(bin, "lastuse"), "-fix", "./...")
	require.Equal(t, "0 bytes live\n", run("go", "run", "."))
}

// app has the README's lines for CUDA, on this machine's memory.
const app = `package main

import (
	"fmt"
	"log"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
)

func main() {
	dev, err := host.Open(host.Options{})
	if err != nil {
		log.Fatal(err)
	}
	pool, err := alloc.NewPool(dev, alloc.Options{})
	if err != nil {
		log.Fatal(err)
	}
	if err := upload(pool.DefaultStream(), make([]float32, 1<<20)); err != nil {
		log.Fatal(err)
	}
	fmt.Println(pool.Stats().Live, "bytes live")
}

func upload(s *alloc.Stream, data []float32) error {
	b, err := alloc.Make[float32](s, len(data))
	if err == nil {
		err = b.CopyFrom(s, data)
	}
	return err
}
`

// publish writes the commit that is checked out into a folder with the layout of a module proxy.
func publish(t *testing.T, proxy string) {
	dir := filepath.Join(proxy, filepath.FromSlash(module), "@v")
	require.NoError(t, os.MkdirAll(dir, 0o777))
	files := map[string]string{
		"list":              published + "\n",
		published + ".info": fmt.Sprintf(`{"Version":%q,"Time":%q}`, published, time.Unix(0, 0).UTC().Format(time.RFC3339)),
	}
	mod, err := exec.Command("git", "show", "HEAD:go.mod").Output()
	require.NoError(t, err)
	files[published+".mod"] = string(mod)
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	f, err := os.Create(filepath.Join(dir, published+".zip"))
	require.NoError(t, err)
	root := t.TempDir() // as zip knows no worktrees
	out, err := exec.Command("git", "clone", "-q", ".", root).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NoError(t, zip.CreateFromVCS(f, version.Version{Path: module, Version: published}, root, "HEAD", ""))
	require.NoError(t, f.Close())
}
