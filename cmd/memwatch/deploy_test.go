package main

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/render"
)

// TestDeploy holds the files for a cluster to the command: the manifest's arguments
// parse, it asks for no more than it says, and the dashboard names metrics that are.
func TestDeploy(t *testing.T) {
	b, err := os.ReadFile("deploy/daemonset.yaml")
	require.NoError(t, err)
	manifest := string(b)
	args := regexp.MustCompile(`args: (\[.*\])`).FindStringSubmatch(manifest)
	require.NotNil(t, args)
	var words []string
	require.NoError(t, json.Unmarshal([]byte(args[1]), &words))
	c, err := parse(words)
	require.NoError(t, err)
	require.True(t, c.watches())
	require.Equal(t, "serve", c.command)
	require.Contains(t, manifest, `add: ["BPF", "PERFMON", "SYS_PTRACE"]`)
	require.Contains(t, manifest, "privileged: false")
	require.NotContains(t, manifest, "\t")

	b, err = os.ReadFile("deploy/grafana.json")
	require.NoError(t, err)
	require.True(t, json.Valid(b))
	var text strings.Builder
	require.NoError(t, render.Metrics(&text, heap.New(heap.Options{}).Snapshot(heap.Query{}), map[string]uint64{}))
	names := regexp.MustCompile(`memwatch_[a-z_]+`).FindAllString(string(b), -1)
	require.NotEmpty(t, names)
	for _, n := range names {
		require.Contains(t, text.String(), "# TYPE "+n+" ")
	}
}
