package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/internal/probe"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// aReport is a process with a pool and foreign memory, as the table of a program
// gives it.
func aReport(c *config, change func(*probe.Snapshot)) *report {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	s := &probe.Snapshot{
		Rate: 512 << 10,
		Accounts: []probe.AccountTotals{
			{
				Name: "cuda:0", Reserved: 64 << 20, ReservedPeak: 64 << 20, Pending: 1 << 20, PeakBound: 40 << 20, Shards: 2,
				Totals: probe.Totals{
					MadeObjects: 1000, MadeBytes: 900 << 20, FreedObjects: 990, FreedBytes: 870 << 20,
					LateObjects: 40, LateBytes: 20 << 20, Repeated: 3,
				},
			},
			{Name: "foreign", Foreign: true, PeakBound: 5000, Shards: 16, Totals: probe.Totals{MadeObjects: 2, MadeBytes: 5000}},
		},
		Sites: []probe.SiteTotals{
			{
				Hash: 0x101, Account: "cuda:0", AllocObjects: 900 * probe.ObjectUnit, AllocBytes: 800 << 20,
				FreeObjects: 892 * probe.ObjectUnit, FreeBytes: 775 << 20, LateObjects: 41*probe.ObjectUnit + 500, LateBytes: 21 << 20,
				Samples: 700, Last: now.Add(-90 * time.Second),
				Stack: "example.com/app/model.Load[...]\t/src/app/model/load.go:31\nmain.main\t/src/app/main.go:12\n",
			},
			{
				Hash: 0x102, Account: "foreign", Exact: true, AllocObjects: 2 * probe.ObjectUnit, AllocBytes: 5000, Samples: 2, Last: now.Add(-3 * time.Hour),
				Stack: "main.cgoMat\t/src/app/mat.go:7\n",
			},
			{Hash: 0x103, Account: "cuda:0", AllocObjects: 98 * probe.ObjectUnit, FreeObjects: 98 * probe.ObjectUnit, Samples: 1, Last: now},
		},
	}
	if change != nil {
		change(s)
	}
	p := newProcessRow(4711, "trainer", []*probe.Snapshot{s})
	r := &report{Time: now, Processes: []*processRow{p}}
	c.choose(p, r, nil)
	return r
}

// TestRender compares each view with its golden file. The JSON ones are the schema
// that others read: a field may come, none may go.
func TestRender(t *testing.T) {
	for _, c := range []struct {
		file   string
		args   string
		change func(*probe.Snapshot)
	}{
		{"table.txt", "-p 4711", nil},
		{"wide.txt", "-p 4711 -o wide", nil},
		{"bytes.txt", "-p 4711 -bytes", nil},
		{"list.txt", "", nil},
		{"sites.txt", "sites -top 1", nil},
		{"leaks.txt", "leaks", nil},
		{"older.txt", "leaks -older 1h", nil},
		{"json.txt", "-p 4711 -o json", nil},
		{"jsonl.txt", "-p 4711 -o jsonl", nil},
		{"exact.txt", "sites", func(s *probe.Snapshot) {
			s.Rate = 1
			for i := range s.Sites {
				s.Sites[i].Exact = true
			}
		}},
		{"nosites.txt", "sites", func(s *probe.Snapshot) { s.Rate, s.Sites = -1, nil }},
		{"full.txt", "-p 4711", func(s *probe.Snapshot) {
			s.LostShards, s.LostSites, s.Torn, s.Accounts[0].Closed = 3, 17, 1, true
		}},
	} {
		t.Run(c.file, func(t *testing.T) {
			conf, err := parse(strings.Fields(c.args))
			require.NoError(t, err)
			var b strings.Builder
			require.NoError(t, conf.render(&b, aReport(conf, c.change)))
			golden := filepath.Join("testdata", "golden", c.file)
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(b.String()), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), b.String())
		})
	}
}

func TestRenderOfNothing(t *testing.T) {
	for args, want := range map[string]string{
		"":         nothing + "\n",
		"sites":    nothing + "\n",
		"-o jsonl": `{"schema":"memwatch/1","time":0,"events":0,"lost":0,"untracked":0,"bad":0,"processes":[]}` + "\n",
	} {
		conf, err := parse(strings.Fields(args))
		require.NoError(t, err)
		var b strings.Builder
		require.NoError(t, conf.render(&b, &report{Processes: []*processRow{}}))
		require.Equal(t, want, b.String(), args)
	}
}

func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Hour: "now", 0: "now", 5 * time.Second: "5s", 90 * time.Second: "1m", 3 * time.Hour: "3h", 72 * time.Hour: "3d",
	} {
		require.Equal(t, want, age(d))
	}
}
