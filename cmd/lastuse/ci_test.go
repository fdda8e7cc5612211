package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/lastuse/lastuse/escape"
)

// What users copy into their CI: it has to parse, and to name what exists.

func readYAML(t *testing.T, text []byte, into any) {
	t.Helper()
	dec := yaml.NewDecoder(strings.NewReader(string(text)))
	require.NoError(t, dec.Decode(into), "%s", text)
}

// takes demands that the command takes the words that stand after its name.
func takes(t *testing.T, words ...string) {
	t.Helper()
	_, err := parseOptions(words)
	require.NoError(t, err, "lastuse %s", strings.Join(words, " "))
}

func TestPreCommitHooks(t *testing.T) {
	src, err := os.ReadFile("../../.pre-commit-hooks.yaml")
	require.NoError(t, err)
	var hooks []struct {
		ID, Name, Language, Entry string
		Args                      []string
		PassFilenames             *bool `yaml:"pass_filenames"`
	}
	readYAML(t, src, &hooks)
	require.Len(t, hooks, 2)
	for _, h := range hooks {
		require.NotEmpty(t, h.Name)
		require.Equal(t, "golang", h.Language)
		require.NotNil(t, h.PassFilenames)
		require.False(t, *h.PassFilenames, "%s: lastuse takes packages, not files", h.ID)
		words := append(strings.Fields(h.Entry), h.Args...)
		require.Equal(t, "lastuse", words[0])
		takes(t, words[1:]...)
	}
}

type action struct {
	Inputs  map[string]struct{ Description, Default string }
	Outputs map[string]struct{ Description, Value string }
	Runs    struct {
		Using string
		Steps []struct {
			ID, Name, Shell, Run string
			Env                  map[string]string
		}
	}
}

func readAction(t *testing.T) action {
	t.Helper()
	src, err := os.ReadFile("../../action.yml")
	require.NoError(t, err)
	var a action
	readYAML(t, src, &a)
	return a
}

// TestAction checks that what the steps use is declared.
func TestAction(t *testing.T) {
	a := readAction(t)
	require.Equal(t, "composite", a.Runs.Using)
	used := map[string]bool{}
	for _, s := range a.Runs.Steps {
		require.Equal(t, "bash", s.Shell, s.Name)
		require.NotContains(t, s.Run, "${{", "%s: what users write goes through the environment, not into the script", s.Name)
		for name, value := range s.Env {
			require.Contains(t, s.Run, "$"+name, s.Name)
			in := regexp.MustCompile(`^\$\{\{ inputs\.([a-z-]+) \}\}$`).FindStringSubmatch(value)
			require.NotNil(t, in, value)
			require.Contains(t, a.Inputs, in[1])
			used[in[1]] = true
		}
	}
	for name, in := range a.Inputs {
		require.NotEmpty(t, in.Description)
		require.True(t, used[name] || name == "working-directory", "input %s does nothing", name)
	}
	for name, out := range a.Outputs {
		require.Contains(t, a.Runs.Steps[1].Run, name+"=")
		require.Contains(t, out.Value, "steps.run.outputs."+name)
	}
}

// TestActionRuns runs the action's script as GitHub does, with a lastuse that
// notes its arguments in place of the installed one.
func TestActionRuns(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	script := readAction(t).Runs.Steps[1].Run
	for _, c := range []struct {
		why      string
		status   string // of lastuse
		fail     string
		want     int
		findings string
	}{
		{"clean", "0", "true", 0, "false"},
		{"findings fail the job", "3", "true", 3, "true"},
		{"findings are only told", "3", "false", 0, "true"},
		{"errors always fail", "1", "false", 1, "false"},
	} {
		t.Run(c.why, func(t *testing.T) {
			dir := t.TempDir()
			bin := filepath.Join(dir, "gopath", "bin")
			require.NoError(t, os.MkdirAll(bin, 0o755))
			fake := "#!/bin/sh\nprintf '%s\\n' \"$@\" >\"$GOPATH/args\"\nexit " + c.status + "\n"
			require.NoError(t, os.WriteFile(filepath.Join(bin, "lastuse"), []byte(fake), 0o755))
			out := filepath.Join(dir, "output")
			cmd := exec.Command(bash, "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "GOPATH="+filepath.Join(dir, "gopath"), "GITHUB_OUTPUT="+out, "GOFLAGS=",
				"PACKAGES=./a ./b", "ARGS=-skip late", "SARIF=x.sarif", "FAIL="+c.fail)
			text, err := cmd.CombinedOutput()
			code := 0
			if err != nil {
				require.ErrorAs(t, err, new(*exec.ExitError), "%s", text)
				code = cmd.ProcessState.ExitCode()
			}
			require.Equal(t, c.want, code, "%s", text)
			args, err := os.ReadFile(filepath.Join(dir, "gopath", "args"))
			require.NoError(t, err)
			require.Equal(t, "-sarif x.sarif -skip late ./a ./b", strings.Join(strings.Fields(string(args)), " "))
			takes(t, strings.Fields(string(args))...)
			output, err := os.ReadFile(out)
			require.NoError(t, err)
			require.Contains(t, string(output), "findings="+c.findings+"\n")
			if c.status == "1" {
				require.NotContains(t, string(output), "sarif=", "an upload would close alerts")
			} else {
				require.Contains(t, string(output), "sarif="+dir+"/x.sarif\n")
			}
		})
	}
}

var fence = regexp.MustCompile("(?s)```([a-z]+)\n(.*?)```")

// TestCIManual checks docs/ci.md: its YAML and JSON parse, its commands are taken,
// and what it names is there.
func TestCIManual(t *testing.T) {
	doc, err := os.ReadFile("../../docs/ci.md")
	require.NoError(t, err)
	seen := map[string]int{}
	for _, m := range fence.FindAllStringSubmatch(string(doc), -1) {
		lang, text := m[1], m[2]
		seen[lang]++
		switch lang {
		case "yaml":
			var v map[string]any
			readYAML(t, []byte(text), &v)
			if repos, ok := v["repos"]; ok {
				args := repos.([]any)[0].(map[string]any)["hooks"].([]any)[0].(map[string]any)["args"]
				var words []string
				for _, a := range args.([]any) {
					words = append(words, a.(string))
				}
				takes(t, words...)
			}
			if jobs, ok := v["jobs"]; ok {
				inputs := readAction(t).Inputs
				for _, s := range jobs.(map[string]any)["lastuse"].(map[string]any)["steps"].([]any) {
					step := s.(map[string]any)
					if uses := step["uses"].(string); strings.HasPrefix(uses, "lastuse/") {
						for name := range step["with"].(map[string]any) {
							require.Contains(t, inputs, name)
						}
						takes(t, append(strings.Fields(step["with"].(map[string]any)["args"].(string)), ".")...)
					}
				}
			}
			if plugins, ok := v["plugins"]; ok {
				path := plugins.([]any)[0].(map[string]any)["import"].(string)
				rel, ok := strings.CutPrefix(path, "github.com/lastuse/lastuse/")
				require.True(t, ok)
				require.DirExists(t, filepath.Join("../..", rel))
			}
		case "json":
			var v map[string]struct {
				Flags map[string]string `json:"analyzer_flags"`
			}
			require.NoError(t, json.Unmarshal([]byte(text), &v))
			for name := range v[escape.Analyzer.Name].Flags {
				require.NotNil(t, escape.Analyzer.Flags.Lookup(name), "the analyzer has no flag -%s", name)
			}
		case "sh":
			for line := range strings.Lines(text) {
				if words := strings.Fields(line); words[0] == "lastuse" {
					takes(t, words[1:]...)
				}
			}
		}
	}
	require.GreaterOrEqual(t, seen["yaml"], 4)
	for _, m := range regexp.MustCompile("`lastuse ([^`]*)`").FindAllStringSubmatch(string(doc), -1) {
		if words := strings.Fields(m[1]); words[0] != "help" {
			takes(t, words...)
		}
	}
}
