// Package prom shows a tracker's totals to Prometheus. It writes the text format by
// itself, so that it needs no client library:
//
//	mux.Handle("/metrics", prom.Handler(books))
//
// Sizes are in bytes, counters end in _total. Every series has the label account, with the
// name of the pool or "foreign"; accounts of one name are added up, and what accounts
// that are gone have counted is under the empty name. Call sites are no labels: there
// would be too many, and the profile of [tracker.Tracker.Handler] shows them.
package prom

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/lastuse/lastuse/tracker"
	"github.com/lastuse/lastuse/tracker/internal/series"
)

// contentType is the text format's.
const contentType = "text/plain; version=0.0.4; charset=utf-8"

// Handler returns a handler that serves [Write]. It does not register itself and checks
// no rights: whoever mounts it decides who may ask.
func Handler(t *tracker.Tracker) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "only GET is served here", http.StatusMethodNotAllowed)
			return
		}
		// All of it is built first, so that a scraper that stalls holds up nobody.
		var b bytes.Buffer
		_ = Write(&b, t) // a buffer takes everything
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(b.Bytes()) // the scraper may have gone: nobody is left to tell
	})
}

// A metric is one figure of an account.
type metric struct {
	name, kind, help string
	labels           string // further labels, with a comma before
	value            func(*tracker.AccountStats) int64
}

// metrics are all metrics by account. Those of one name stand together.
var metrics = []metric{
	{"foreignheap_live_bytes", "gauge", "Bytes in use.", "",
		func(a *tracker.AccountStats) int64 { return a.Live }},
	{"foreignheap_live_objects", "gauge", "Buffers in use.", "",
		func(a *tracker.AccountStats) int64 { return a.LiveObjects }},
	{"foreignheap_live_peak_bytes", "gauge", "Bytes that were never exceeded by those in use: an upper bound of their peak.", "",
		func(a *tracker.AccountStats) int64 { return a.Peak }},
	{"foreignheap_pending_bytes", "gauge", "Bytes freed that work on some stream may still use.", "",
		func(a *tracker.AccountStats) int64 { return a.Pending }},
	{"foreignheap_reserved_bytes", "gauge", "Bytes got from the device. They contain those in use: never add the two.", "",
		func(a *tracker.AccountStats) int64 { return a.Reserved }},
	{"foreignheap_allocated_bytes_total", "counter", "Bytes ever allocated.", "",
		func(a *tracker.AccountStats) int64 { return a.Total }},
	{"foreignheap_allocated_objects_total", "counter", "Buffers ever allocated.", "",
		func(a *tracker.AccountStats) int64 { return a.Made }},
	{"foreignheap_freed_objects_total", "counter", "Buffers freed, by whom.", `,how="explicit"`,
		func(a *tracker.AccountStats) int64 { return a.Freed }},
	{"foreignheap_freed_objects_total", "counter", "Buffers freed, by whom.", `,how="late"`,
		func(a *tracker.AccountStats) int64 { return a.Late }},
	{"foreignheap_late_bytes_total", "counter", "Bytes freed by the collector because nobody called Free.", "",
		func(a *tracker.AccountStats) int64 { return a.LateBytes }},
	{"foreignheap_repeated_frees_total", "counter", "Calls of Free on what was free already.", "",
		func(a *tracker.AccountStats) int64 { return a.Repeated }},
}

// Write writes the totals of t in the text format.
func Write(w io.Writer, t *tracker.Tracker) error {
	st := t.Stats()
	accounts := series.ByName(st)
	var b bytes.Buffer
	for i, m := range metrics {
		if i == 0 || metrics[i-1].name != m.name {
			head(&b, m.name, m.kind, m.help)
		}
		for _, a := range accounts {
			fmt.Fprintf(&b, "%s{account=\"%s\"%s} %d\n", m.name, escape.Replace(a.Name), m.labels, m.value(a))
		}
	}
	for _, c := range []struct {
		name, help string
		value      int64
	}{
		{"foreignheap_sites_lost_total", "Samples whose call site found no room.", st.SitesLost},
		{"foreignheap_missed_frees_total", "Foreign allocations at an address whose free was never told.", st.Missed},
	} {
		head(&b, c.name, "counter", c.help)
		fmt.Fprintf(&b, "%s %d\n", c.name, c.value)
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("prom: write: %w", err)
	}
	return nil
}

func head(b *bytes.Buffer, name, kind, help string) {
	fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

// escape escapes the value of a label.
var escape = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
