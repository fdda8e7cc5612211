package web

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
)

// TestTimeline asks for the allocations of a process: what lives of them is what its sites have.
func TestTimeline(t *testing.T) {
	s := serve(t, Options{})
	p := s.opts.Source(heap.Query{}).Processes[0]
	ask := func(query string) (int, lives) {
		var l lives
		code, body, _ := get(t, s, "/timeline.json?"+query)
		if code == 200 {
			require.NoError(t, json.Unmarshal([]byte(body), &l))
		}
		return code, l
	}
	code, l := ask(fmt.Sprintf("process=%d-%d&span=0", p.PID, p.Start))
	require.Equal(t, 200, code)
	require.NotEmpty(t, l.Size)
	live := make(map[string]int64)
	for i := range l.Size {
		if l.End[i] == 0 {
			live[l.Titles[l.Site[i]]] += int64(l.Size[i])
		}
	}
	total := int64(0)
	for _, n := range live {
		total += n
	}
	require.NotZero(t, total)
	require.LessOrEqual(t, total, p.Live)
	require.Greater(t, total, p.Live*9/10, "the large ones are most of it")
	code, short := ask(fmt.Sprintf("process=%d-%d&span=1", p.PID, p.Start))
	require.Equal(t, 200, code)
	require.Less(t, len(short.Size), len(l.Size), "what ended before is left out")

	for query, want := range map[string]int{
		"": 400, "process=1-1": 400, "process=a-b&span=0": 400, "process=1-1&span=-1": 400,
		fmt.Sprintf("process=%d-%d&span=1", p.PID, p.Start+1):                  404,
		fmt.Sprintf("process=%d-%d&span=18446744073709551615", p.PID, p.Start): 200,
	} {
		code, _ := ask(query)
		require.Equal(t, want, code, query)
	}
	code, _, _ = get(t, s, "/timeline.json?process=1-1&span=0", "Authorization", "")
	require.Equal(t, 401, code)
}
