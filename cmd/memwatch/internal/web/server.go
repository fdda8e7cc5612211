package web

import (
	"context"
	"crypto/rand"
	"embed"
	"encoding/base64"
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
)

//go:embed static
var static embed.FS

// Options say what is served.
type Options struct {
	Token    string                              // what a request must know; "" makes one
	Hosts    []string                            // names that this server goes by, besides its address
	Source   func(heap.Query) *heap.Snapshot     // called by several goroutines
	Hits     func() map[string]uint64            // of the probes, or nil
	Wall     func(events int64) (unixNano int64) // the time of day of a time of the events, or nil
	Interval time.Duration                       // between two events of a stream; 0: 1 s
}

// Bounds.
const (
	maxStreams  = 16
	maxConns    = 128
	maxHeader   = 16 << 10
	writeWithin = 10 * time.Second
	cookie      = "memwatch"
)

// A Server serves the page on one listener.
type Server struct {
	opts    Options
	hosts   map[string]bool
	origins map[string]bool // besides http at the host that was asked
	streams chan struct{}   // one element for each stream that is open
	mux     *http.ServeMux
	addr    string
	over    chan struct{}
	history history
}

// New returns a Server for a listener's address.
func New(o Options, addr net.Addr) *Server {
	if o.Token == "" {
		o.Token = NewToken()
	}
	if o.Interval <= 0 {
		o.Interval = time.Second
	}
	s := &Server{opts: o, hosts: make(map[string]bool), origins: make(map[string]bool), streams: make(chan struct{}, maxStreams), mux: http.NewServeMux(), addr: addr.String(), over: make(chan struct{})}
	host, port, _ := net.SplitHostPort(s.addr)
	s.hosts[s.addr] = true
	if ip := net.ParseIP(host); ip == nil || ip.IsLoopback() || ip.IsUnspecified() {
		s.hosts["127.0.0.1:"+port], s.hosts["localhost:"+port], s.hosts["[::1]:"+port] = true, true, true
	}
	for _, name := range o.Hosts { // as it is asked directly, and as a proxy that serves it hands requests on
		s.hosts[net.JoinHostPort(name, port)], s.hosts[name] = true, true
		s.origins["https://"+name] = true
	}
	root, err := fs.Sub(static, "static")
	if err != nil {
		panic(err) // it is embedded
	}
	s.mux.Handle("GET /", http.FileServerFS(root))
	s.mux.HandleFunc("GET /events", s.events)
	s.mux.HandleFunc("GET /snapshot.json", s.snapshot)
	s.mux.Handle("GET /history.json", &s.history)
	s.mux.HandleFunc("GET /metrics", s.metrics)
	s.mux.HandleFunc("GET /folded", s.folded)
	s.mux.HandleFunc("GET /debug/pprof/device", s.profile)
	return s
}

// NewToken returns a random token.
func NewToken() string {
	b := make([]byte, 24)
	rand.Read(b)
	return base64.RawURLEncoding.EncodeToString(b)
}

// URL is the address that opens the page, token and all.
func (s *Server) URL() string { return s.Address() + "?token=" + url.QueryEscape(s.opts.Token) }

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
	err := srv.Serve(&limited{Listener: l, free: make(chan struct{}, maxConns)})
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("web: %w", err)
}

// ServeHTTP lets a request through that knows the token and comes from here.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeWithin))
	if !s.hosts[r.Host] && !isLocal(r) {
		http.Error(w, "wrong host", http.StatusMisdirectedRequest)
		return
	}
	if o := r.Header.Get("Origin"); o != "" && o != "http://"+r.Host && !s.origins[o] {
		http.Error(w, "wrong origin", http.StatusForbidden)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.Error(w, "only GET", http.StatusMethodNotAllowed)
		return
	}
	// The address with the token is opened from anywhere, a terminal or a mail; all
	// else only by the page itself.
	if r.URL.Path == "/" && r.URL.Query().Has("token") {
		if !s.knows(r.URL.Query().Get("token")) {
			http.Error(w, "wrong token", http.StatusForbidden)
			return
		}
		http.SetCookie(w, &http.Cookie{Name: s.cookie(), Value: s.opts.Token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
		// A redirect would lose a strict cookie where the link came from another site.
		h.Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, `<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=/"><title>memwatch</title><a href="/">memwatch</a>`)
		return
	}
	if f := r.Header.Get("Sec-Fetch-Site"); f != "" && f != "same-origin" && f != "none" {
		http.Error(w, "wrong site", http.StatusForbidden)
		return
	}
	if !s.allowed(r) {
		h.Set("WWW-Authenticate", "Bearer")
		http.Error(w, "the token is missing: open the address that memwatch printed", http.StatusUnauthorized)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// isLocal reports whether Host is the very address that the connection was made to,
// as a number: no name can be made to resolve to something that is not looked up.
func isLocal(r *http.Request) bool {
	a, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok || r.Host != a.String() {
		return false
	}
	host, _, err := net.SplitHostPort(r.Host)
	return err == nil && net.ParseIP(host) != nil
}

// cookie names the cookie by port: browsers share cookies among a host's ports.
func (s *Server) cookie() string {
	_, port, _ := net.SplitHostPort(s.addr)
	return cookie + "-" + port
}

func (s *Server) knows(token string) bool {
	return guard.Same(token, s.opts.Token)
}

func (s *Server) allowed(r *http.Request) bool {
	if t, ok := guard.Bearer(r); ok {
		return s.knows(t)
	}
	c, err := r.Cookie(s.cookie())
	return err == nil && s.knows(c.Value)
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

// A limited listener accepts only so many connections at once.
type limited struct {
	net.Listener
	free chan struct{}
}

func (l *limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case l.free <- struct{}{}:
			return &conn{Conn: c, release: sync.OnceFunc(func() { <-l.free })}, nil
		default:
			c.Close()
		}
	}
}

type conn struct {
	net.Conn
	release func()
}

func (c *conn) Close() error {
	c.release()
	return c.Conn.Close()
}
