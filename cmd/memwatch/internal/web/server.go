package web

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/metrics"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/render"
	"github.com/lastuse/lastuse/internal/guard"
	"github.com/lastuse/lastuse/internal/page"
)

//go:embed static
var static embed.FS

// Options say what is served.
type Options struct {
	Token  string                          // what a request must know; "" makes one
	Hosts  []string                        // names that this server goes by, besides its address
	Source func(heap.Query) *heap.Snapshot // called by several goroutines
	Hits   func() map[string]uint64        // of the probes, or nil
	// the latest allocations of a process, no more than most; nil if there is no such process
	Timeline func(pid uint32, start uint64, since time.Duration, most int) *heap.Timeline
	Wall     func(events int64) (unixNano int64) // the time of day of a time of the events, or nil
	Interval time.Duration                       // between two events of a stream; 0: 1 s
	Store    *Store                              // where the history goes as well, or nil
	Fault    func(error)                         // is told why the store is written to no longer
}

// Bounds.
const (
	maxStreams  = 16
	maxConns    = 128
	maxHeader   = 16 << 10
	writeWithin = 10 * time.Second
)

// A Server serves the page on one listener.
type Server struct {
	opts    Options
	streams chan struct{} // one element for each stream that is open
	guard   *guard.Guard
	handler http.Handler // behind the guard
	addr    string
	over    chan struct{}
	history history
}

// New returns a Server for a listener's address.
func New(o Options, addr net.Addr) *Server {
	if o.Interval <= 0 {
		o.Interval = time.Second
	}
	s := &Server{opts: o, streams: make(chan struct{}, maxStreams), addr: addr.String(), over: make(chan struct{})}
	s.guard = guard.New(guard.Options{Token: o.Token, Name: "memwatch", Page: "/", Hosts: o.Hosts}, addr)
	if o.Store != nil {
		s.history.fault = o.Fault
		s.history.take(o.Store)
	}
	mux := http.NewServeMux()
	s.handler = s.guard.Wrap(mux)
	root, err := fs.Sub(static, "static")
	if err != nil {
		panic(err) // it is embedded
	}
	mux.Handle("GET /", http.FileServerFS(root))
	mux.Handle("GET /shared/", http.StripPrefix("/shared", http.FileServerFS(page.Files())))
	mux.HandleFunc("GET /events", s.events)
	mux.HandleFunc("GET /snapshot.json", s.snapshot)
	mux.Handle("GET /history.json", &s.history)
	mux.HandleFunc("GET /timeline.json", s.timeline)
	mux.HandleFunc("GET /metrics", s.metrics)
	mux.HandleFunc("GET /folded", s.folded)
	mux.HandleFunc("GET /debug/pprof/device", s.profile)
	return s
}

// URL is the address that opens the page, token and all.
func (s *Server) URL() string { return s.Address() + "?token=" + url.QueryEscape(s.guard.Token()) }

// Address is that of the page for who knows the token. Of a server that listens on every address it is this
// machine's own.
func (s *Server) Address() string {
	host, port, _ := net.SplitHostPort(s.addr)
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port) + "/"
}

// Serve answers requests on l until ctx is done.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	srv := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    maxHeader,
	}
	stop := context.AfterFunc(ctx, func() {
		close(s.over)
		end, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		if srv.Shutdown(end) != nil {
			srv.Close()
		}
	})
	defer stop()
	ctx, end := context.WithCancel(ctx)
	var keeping sync.WaitGroup
	keeping.Go(func() { s.history.inTurn(ctx, s.opts.Source) })
	defer keeping.Wait()
	defer end()
	err := srv.Serve(guard.Limit(l, maxConns))
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("web: %w", err)
}

// policy lets the page take what it needs from here, and from nowhere else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// ServeHTTP answers a request that the guard lets in.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Security-Policy", policy)
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeWithin))
	s.handler.ServeHTTP(w, r)
}

// query reads ?pid= and ?top=.
func query(r *http.Request) (heap.Query, error) {
	var q heap.Query
	for _, v := range r.URL.Query()["pid"] {
		pid, err := strconv.ParseUint(v, 10, 32)
		if err != nil || len(q.PIDs) >= 64 {
			return q, errors.New("pid: not a number")
		}
		q.PIDs = append(q.PIDs, uint32(pid))
	}
	if v := r.URL.Query().Get("top"); v != "" {
		n, err := strconv.ParseUint(v, 10, 16)
		if err != nil {
			return q, errors.New("top: not a number")
		}
		q.Top = int(n)
	}
	return q, nil
}

// answer writes what do makes of a snapshot.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, kind string, do func(*heap.Snapshot) error) {
	q, err := query(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", kind)
	_ = do(s.opts.Source(q)) // the reader has gone
}

func (s *Server) snapshot(w http.ResponseWriter, r *http.Request) {
	s.answer(w, r, "application/json", func(h *heap.Snapshot) error { return render.JSON(w, h) })
}

func (s *Server) metrics(w http.ResponseWriter, r *http.Request) {
	q, err := query(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var hits map[string]uint64
	if s.opts.Hits != nil {
		hits = s.opts.Hits()
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics.Of(s.opts.Source(q), hits))
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}).ServeHTTP(w, r)
}

func (s *Server) folded(w http.ResponseWriter, r *http.Request) {
	s.answer(w, r, "text/plain; charset=utf-8", func(h *heap.Snapshot) error { return render.Folded(w, h) })
}

func (s *Server) profile(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Disposition", `attachment; filename="device.pb.gz"`)
	s.answer(w, r, "application/octet-stream", func(h *heap.Snapshot) error {
		wall := time.Now().UnixNano()
		if s.opts.Wall != nil {
			wall = s.opts.Wall(h.Time)
		}
		return render.Pprof(w, h, wall)
	})
}

// events sends a snapshot an interval, each with its number.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		http.Error(w, "too many streams", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	c := http.NewResponseController(w)
	_ = c.SetReadDeadline(time.Time{})
	tick := time.NewTicker(s.opts.Interval)
	defer tick.Stop()
	for n := 1; ; n++ {
		_ = c.SetWriteDeadline(time.Now().Add(writeWithin))
		if _, err := fmt.Fprintf(w, "id: %d\ndata: ", n); err != nil {
			return
		}
		if render.JSONLine(w, s.opts.Source(heap.Query{Top: 200, Keep: true})) != nil { // it ends its line
			return
		}
		if _, err := fmt.Fprint(w, "\n"); err != nil || c.Flush() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-s.over:
			return
		case <-tick.C:
		}
	}
}
