package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// poolStats are the figures of alloc.Stats that memwatch shows too.
type poolStats struct {
	Live, Pending, Idle, Reserved, PeakLive, TotalLive int64
	Buffers, Made, Freed, Late, LateBytes, Repeated    int64
}

// TestFiguresOfAPool compares memwatch with pool.Stats() of a running program, at ten
// stops.
func TestFiguresOfAPool(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pooler")
	out, err := exec.Command("go", "build", "-o", path, "./testdata/pooler").CombinedOutput()
	require.NoError(t, err, "%s", out)
	cmd := exec.Command(path)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	answers, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		in.Close()
		require.NoError(t, cmd.Wait())
	})
	lines := bufio.NewScanner(answers)
	k := &keeper{t: t, cmd: cmd}
	var want poolStats
	more := func() {
		fmt.Fprintln(in, "more")
		require.True(t, lines.Scan(), "it ended")
		require.NoError(t, json.Unmarshal(lines.Bytes(), &want))
	}
	for stop := range 10 {
		more()
		p := k.seen()
		require.Len(t, p.Accounts, 1)
		a := p.Accounts[0]
		got := poolStats{
			Live: a.Live, Pending: a.Pending, Idle: a.Idle, Reserved: a.Reserved, PeakLive: a.Peak, TotalLive: int64(a.MadeBytes),
			Buffers: a.LiveObjects, Made: int64(a.Made), Freed: int64(a.Freed), Late: int64(a.Late),
			LateBytes: int64(a.LateBytes), Repeated: int64(a.Repeated),
		}
		require.Equal(t, want, got, "stop %d", stop)
		require.Equal(t, a.Live+a.Pending+a.Idle, a.Reserved)
		require.Equal(t, int64(50*(stop+1)), want.Made)
		require.NotZero(t, want.Repeated)

		require.Len(t, p.Sites, 1, "one line makes them all")
		site := p.Sites[0]
		require.Equal(t, "main.main", site.Function)
		require.Equal(t, [4]int64{a.Live, a.LiveObjects, int64(a.Made), int64(a.Late)}, [4]int64{site.Live, site.LiveObjects, site.Made, site.Late})
	}
	before := want
	m := k.counted(more)
	require.Equal(t, uint64(want.Made-before.Made), m.Alloc)
	require.Equal(t, uint64(want.Freed+want.Late-before.Freed-before.Late), m.Free)
}
