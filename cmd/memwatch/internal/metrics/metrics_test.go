package metrics

import (
	"bytes"
	"flag"
	"os"
	"regexp"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
)

var update = flag.Bool("update", false, "rewrite the golden file")

func text(t *testing.T, s *heap.Snapshot, hits map[string]uint64) string {
	r := prometheus.NewPedanticRegistry()
	require.NoError(t, r.Register(Of(s, hits)))
	families, err := r.Gather()
	require.NoError(t, err)
	var b bytes.Buffer
	for _, f := range families {
		_, err := expfmt.MetricFamilyToText(&b, f)
		require.NoError(t, err)
	}
	return b.String()
}

// TestGolden shows a session with hostile names, devices and a forecast.
func TestGolden(t *testing.T) {
	log, err := os.Open("../render/testdata/session.log")
	require.NoError(t, err)
	defer log.Close()
	h := heap.New(heap.Options{})
	require.NoError(t, heap.ParseLog(log, h.Apply))
	h.Advance(10e9)
	s := h.Snapshot(heap.Query{})
	s.Devices = []heap.DeviceState{{Name: "a \"GPU\"\n\\", Total: 100, Used: 90, Busy: 7, Full: 1500e6}, {Device: 1, Busy: -1}}
	s.Processes[0].Full = 250e6
	got := text(t, s, map[string]uint64{"cuMemAlloc_v2": 7, "cuMemFree_v2": 1})
	if *update {
		require.NoError(t, os.WriteFile("testdata/metrics.txt", []byte(got), 0o644))
	}
	want, err := os.ReadFile("testdata/metrics.txt")
	require.NoError(t, err)
	require.Equal(t, string(want), got)
	require.NotRegexp(t, regexp.MustCompile(`[\x00-\x09\x0b-\x1f\x{202e}]`), got)
}

// TestOneSetOfNames: what begins with foreignheap_ is what programs tell, and there is no other kind of name.
func TestOneSetOfNames(t *testing.T) {
	b, err := os.ReadFile("testdata/metrics.txt")
	require.NoError(t, err)
	shared := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (\S+) (\S+)$`).FindAllStringSubmatch(string(b), -1) {
		require.Regexp(t, `^(memwatch|foreignheap)_`, m[1])
		require.Equal(t, regexp.MustCompile(`_total$`).MatchString(m[1]), m[2] == "counter", m[1])
		if regexp.MustCompile(`^foreignheap_`).MatchString(m[1]) {
			shared[m[1]] = true
		}
	}
	require.Len(t, shared, 7)
}

func TestNothing(t *testing.T) {
	require.Equal(t, "# HELP memwatch_events_total Events applied.\n# TYPE memwatch_events_total counter\nmemwatch_events_total 0\n", text(t, &heap.Snapshot{}, nil))
}
