package escape_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var roomsBeside = flag.String("rooms-beside", "", "write what differs between the rooms and the analyzer to a `file`")

// TestRoomsInModules runs the rooms beside the analyzer over other people's modules, and compares what they
// free:
//
//	go test ./escape -run RoomsInModules -timeout 1h -modules=gocv.io/x/gocv@v0.41.0 -rooms-beside=FILE
//
// For each call that makes a buffer FILE says whether both free it in the same lines, elsewhere, or one of
// them alone, with the other's reason, and how often each reason stands there. What the rooms edit must
// compile.
func TestRoomsInModules(t *testing.T) {
	var out strings.Builder
	for _, c := range checkouts(t) {
		older := freedLines(t, c, "-explain", "-json")
		newer := freedLines(t, c, "-rooms", "-explain", "-json")
		count, whys := map[string]int{}, map[string]int{}
		var lines []string
		for _, posn := range slices.Sorted(maps.Keys(older)) {
			o, n := older[posn], newer[posn]
			kind := ""
			switch {
			case len(o.frees)+len(n.frees) == 0:
				if n.verdict == "kept" && o.verdict != n.verdict {
					count["kept by the rooms alone"]++
				}
				continue
			case slices.Equal(o.frees, n.frees):
				kind = "same"
			case len(o.frees) == 0:
				kind = "rooms alone"
			case len(n.frees) == 0:
				kind = "analyzer alone"
				whys[n.why()]++
			default:
				kind = "elsewhere"
			}
			count[kind]++
			if kind != "same" {
				lines = append(lines, fmt.Sprintf("\t%s: %s: %v (%s), rooms %v (%s)\n", kind, posn, o.frees, o.why(), n.frees, n.why()))
			}
		}
		for posn, n := range newer {
			if _, ok := older[posn]; !ok && len(n.frees) > 0 {
				count["rooms alone"]++
				lines = append(lines, fmt.Sprintf("\trooms alone: %s: rooms %v (%s)\n", posn, n.frees, n.why()))
			}
		}
		slices.Sort(lines)
		fmt.Fprintf(&out, "%s: of %d buffers, %d to the rooms: same %d, elsewhere %d, rooms alone %d, analyzer alone %d\n", c.name,
			len(older), len(newer), count["same"], count["elsewhere"], count["rooms alone"], count["analyzer alone"])
		for _, why := range slices.SortedFunc(maps.Keys(whys), func(a, b string) int { return whys[b] - whys[a] }) {
			fmt.Fprintf(&out, "\t%d analyzer alone: %s\n", whys[why], why)
		}
		out.WriteString(strings.Join(lines, ""))
		_, said := c.run(t, []int{0, 1, 3}, "-rooms", "-diff")
		t.Logf("%s: -rooms -diff: %s", c.name, said)
		require.NotContains(t, said, "does not compile", "an edit does not type-check")
	}
	if *roomsBeside != "" {
		require.NoError(t, os.WriteFile(*roomsBeside, []byte(out.String()), 0o644))
	}
	for line := range strings.Lines(out.String()) {
		if line[0] != '\t' {
			t.Log(line)
		}
	}
}

// A told buffer is what is said of it.
type told struct {
	verdict string
	frees   []string // file:line of each
	reason  string
}

func (b told) why() string {
	if b.reason == "" {
		return b.verdict
	}
	return b.verdict + ": " + b.reason
}

// freedLines runs the command and returns what becomes of the buffers, by where they are made.
func freedLines(t *testing.T, c *checkout, args ...string) map[string]told {
	stdout, stderr := c.run(t, []int{0, 1, 3}, args...)
	require.NotContains(t, stderr, "internal error", "%v", args)
	var all struct {
		Functions []struct {
			Buffers []struct {
				Posn, Verdict, Reason string
				Frees                 []struct{ Posn string }
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &all))
	out := map[string]told{}
	for _, f := range all.Functions {
		for _, b := range f.Buffers {
			x := out[b.Posn]
			x.verdict, x.reason = b.Verdict, b.Reason
			for _, fr := range b.Frees {
				x.frees = append(x.frees, fr.Posn)
			}
			slices.Sort(x.frees)
			out[b.Posn] = x
		}
	}
	return out
}
