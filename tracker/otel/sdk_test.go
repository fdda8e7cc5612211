//go:build long

// What OpenTelemetry's own SDK collects. The SDK is as large as all else that the package's tests need.

package otel

import (
	"context"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/lastuse/lastuse/internal/books"
	"github.com/lastuse/lastuse/tracker"
	"github.com/lastuse/lastuse/tracker/internal/series"
)

// A point is one value as the SDK collected it.
type point struct {
	kind, unit string
	value      int64
}

// collect reads everything, by instrument and attributes.
func collect(t *testing.T, r sdk.Reader) map[string]point {
	var rm metricdata.ResourceMetrics
	require.NoError(t, r.Collect(context.Background(), &rm))
	all := map[string]point{}
	for _, scope := range rm.ScopeMetrics {
		for _, m := range scope.Metrics {
			require.NotEmpty(t, m.Description)
			put := func(kind string, points []metricdata.DataPoint[int64]) {
				for _, p := range points {
					key := m.Name + "{" + p.Attributes.Encoded(attribute.DefaultEncoder()) + "}"
					require.NotContains(t, all, key)
					all[key] = point{kind, m.Unit, p.Value}
				}
			}
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				require.Equal(t, metricdata.CumulativeTemporality, data.Temporality)
				kind := "level"
				if data.IsMonotonic {
					kind = "counter"
				}
				put(kind, data.DataPoints)
			case metricdata.Gauge[int64]:
				put("gauge", data.DataPoints)
			default:
				t.Fatalf("%s is %T", m.Name, data)
			}
		}
	}
	return all
}

// account opens an account as an allocator does.
func account(t *tracker.Tracker, name string) *books.Account { return books.Of(t).NewAccount(name) }

// shardOf returns a new shard of a, whose only writer is the test.
func shardOf(a *books.Account) *books.Shard { return a.NewShard(new(sync.Mutex)) }

func TestRegister(t *testing.T) {
	books := tracker.New(tracker.Options{})
	a, b := account(books, "cuda:0"), account(books, "cuda:0")
	s, u := shardOf(a), shardOf(b)
	a.AddReserved(4096)
	s.Alloc(1000)
	u.Alloc(500)
	u.Late(500)
	s.Repeat()
	s.Pend(64)
	books.Alloc(0x1000, 70)
	require.NoError(t, books.Free(0x1000))

	reader := sdk.NewManualReader()
	provider := sdk.NewMeterProvider(sdk.WithReader(reader))
	registration, err := Register(provider.Meter("test"), books)
	require.NoError(t, err)
	got := collect(t, reader)
	for key, want := range map[string]point{
		"foreignheap.live{account=cuda:0}":                        {"level", "By", 1000},
		"foreignheap.live{account=foreign}":                       {"level", "By", 0},
		"foreignheap.live.objects{account=cuda:0}":                {"level", "{buffer}", 1},
		"foreignheap.live.peak{account=cuda:0}":                   {"gauge", "By", 1500},
		"foreignheap.pending{account=cuda:0}":                     {"level", "By", 64},
		"foreignheap.reserved{account=cuda:0}":                    {"level", "By", 4096},
		"foreignheap.allocated{account=cuda:0}":                   {"counter", "By", 1500},
		"foreignheap.allocated.objects{account=cuda:0}":           {"counter", "{buffer}", 2},
		"foreignheap.freed.objects{account=cuda:0,how=explicit}":  {"counter", "{buffer}", 0},
		"foreignheap.freed.objects{account=cuda:0,how=late}":      {"counter", "{buffer}", 1},
		"foreignheap.freed.objects{account=foreign,how=explicit}": {"counter", "{buffer}", 1},
		"foreignheap.late{account=cuda:0}":                        {"counter", "By", 500},
		"foreignheap.repeated_frees{account=cuda:0}":              {"counter", "{call}", 1},
		"foreignheap.sites_lost{}":                                {"counter", "{sample}", 0},
		"foreignheap.missed_frees{}":                              {"counter", "{buffer}", 0},
	} {
		require.Contains(t, got, key)
		require.Equal(t, want, got[key], key)
	}
	require.Len(t, got, 2*len(series.Figures)+len(series.Totals), "two names of accounts")

	s.Free(1000)
	require.Zero(t, collect(t, reader)["foreignheap.live{account=cuda:0}"].value, "each reading asks anew")

	require.NoError(t, registration.Unregister())
	require.Empty(t, collect(t, reader), "nothing is observed any more")
	runtime.KeepAlive(s)
	runtime.KeepAlive(u)
}
