//go:build !lastuse_nohttp

package tracker

import (
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/lastuse/lastuse/internal/guard"
)

// Paths that a Server serves.
const (
	PagePath    = "/debug/foreignheap"
	ProfilePath = "/debug/pprof/foreignheap"
)

const (
	// serverConns bounds how many connections a Server holds at once.
	serverConns = 32
	// serverTime bounds how long a request or an idle connection may take.
	serverTime = 30 * time.Second
)

// A Server serves the page and the profile of a Tracker to programs of this machine
// that know its token.
type Server struct {
	guard *guard.Guard
	host  string // host:port
	http  http.Server
	done  chan struct{} // closed when serving has ended
}

// Serve starts to serve t on address, which must name the loopback interface, such as
// "127.0.0.1:0" or "localhost:6060". An address without a host, such as ":6060", means loopback too.
// A random token is made for each server: requests carry it as ?token=, as a bearer token, or
// in the cookie that the first request with ?token= is given. Requests whose Host is not this server's, or
// whose Origin is another, are refused, so that no page elsewhere can ask through
// a browser. Serving goes on until [Server.Close].
func (t *Tracker) Serve(address string) (*Server, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("tracker: serve: %w", err)
	}
	if host == "" || host == "localhost" {
		host = "127.0.0.1"
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("tracker: serve: %q is not loopback: mount Handler and Page in a server of your own to serve others", host)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, fmt.Errorf("tracker: serve: %w", err)
	}
	s := &Server{host: l.Addr().String(), done: make(chan struct{})}
	s.guard = guard.New(guard.Options{Name: "lastuse", Page: PagePath}, l.Addr())
	mux := http.NewServeMux()
	mux.Handle(PagePath, t.Page())
	mux.Handle(ProfilePath, t.Handler())
	s.http = http.Server{
		Handler:           s.guard.Wrap(mux),
		ReadHeaderTimeout: serverTime,
		ReadTimeout:       serverTime,
		WriteTimeout:      serverTime,
		IdleTimeout:       serverTime,
		MaxHeaderBytes:    16 << 10,
	}
	go func() {
		defer close(s.done)
		_ = s.http.Serve(guard.Limit(l, serverConns))
	}()
	return s, nil
}

// URL returns the address of the page with the token in it. Who has it may read.
func (s *Server) URL() string { return s.at(PagePath) }

// ProfileURL returns the address to give to go tool pprof.
func (s *Server) ProfileURL() string { return s.at(ProfilePath) }

func (s *Server) at(path string) string {
	return "http://" + s.host + path + "?token=" + s.guard.Token()
}

// Close ends the server and its connections.
func (s *Server) Close() error {
	err := s.http.Close()
	<-s.done
	if err != nil {
		return fmt.Errorf("tracker: serve: %w", err)
	}
	return nil
}
