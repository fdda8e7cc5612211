package prom_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/lastuse/lastuse/tracker"
	"github.com/lastuse/lastuse/tracker/prom"
)

// The collector goes to the registry that the program serves anyway.
func ExampleNewCollector() {
	books := tracker.New(tracker.Options{})
	books.Alloc(0x1000, 3<<20)

	registry := prometheus.NewRegistry()
	registry.MustRegister(prom.NewCollector(books))
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))

	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for line := range strings.Lines(answer.Body.String()) {
		if strings.Contains(line, "foreignheap_live_bytes") {
			fmt.Print(line)
		}
	}

	// Output:
	// # HELP foreignheap_live_bytes Bytes in use.
	// # TYPE foreignheap_live_bytes gauge
	// foreignheap_live_bytes{account="foreign"} 3.145728e+06
}
