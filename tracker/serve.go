//go:build !lastuse_nohttp

package tracker

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/lastuse/lastuse/internal/guard"
)

// Paths that a Server serves.
const (
	PagePath    = "/debug/foreignheap"
	ProfilePath = "/debug/pprof/foreignheap"
)

const (
	// cookiePrefix and the port are the name of a Server's cookie: a browser keeps one jar for all ports of a
	// host, where another program's Server would take the place of this one.
	cookiePrefix = "lastuse_token_"

	// serverConns bounds how many connections a Server holds at once.
	serverConns = 32
	// serverTime bounds how long a request or an idle connection may take.
	serverTime = 30 * time.Second
)

// A Server serves the page and the profile of a Tracker to programs of this machine
// that know its token.
type Server struct {
	url   string
	token string
	host  string // host:port that requests must name
	port  string
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
	s := &Server{token: random(), host: l.Addr().String(), done: make(chan struct{})}
	_, s.port, _ = net.SplitHostPort(s.host)
	s.url = "http://" + s.host + PagePath + "?token=" + s.token
	mux := http.NewServeMux()
	mux.Handle(PagePath, t.Page())
	mux.Handle(ProfilePath, t.Handler())
	s.http = http.Server{
		Handler:           s.guard(mux),
		ReadHeaderTimeout: serverTime,
		ReadTimeout:       serverTime,
		WriteTimeout:      serverTime,
		IdleTimeout:       serverTime,
		MaxHeaderBytes:    16 << 10,
	}
	go func() {
		defer close(s.done)
		_ = s.http.Serve(&limited{Listener: l, free: make(chan struct{}, serverConns), closed: make(chan struct{})})
	}()
	return s, nil
}

// URL returns the address of the page with the token in it. Who has it may read.
func (s *Server) URL() string { return s.url }

// ProfileURL returns the address to give to go tool pprof.
func (s *Server) ProfileURL() string {
	return "http://" + s.host + ProfilePath + "?token=" + s.token
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

var (
	errHost   = errors.New("the request is for another host")
	errOrigin = errors.New("the request comes from a page elsewhere")
	errToken  = errors.New("the token is missing or wrong: use the address that the program printed")
)

// guard lets only those requests pass to next that have a right to be here.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fromURL, err := s.admit(r)
		switch {
		case errors.Is(err, errToken):
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		case err != nil:
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		w.Header().Set("Referrer-Policy", "no-referrer")
		if fromURL && r.URL.Path == PagePath {
			// The token leaves the address bar, the history and what is copied from them.
			http.SetCookie(w, &http.Cookie{
				Name: s.cookie(), Value: s.token, Path: "/debug/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
			})
			q := r.URL.Query()
			q.Del("token")
			to := url.URL{Path: PagePath, RawQuery: q.Encode()}
			w.Header().Set("Cache-Control", "no-store")
			http.Redirect(w, r, to.String(), http.StatusSeeOther)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// admit returns an error if the request has no right to be here, and reports whether
// its token came in its URL.
func (s *Server) admit(r *http.Request) (fromURL bool, err error) {
	if r.Host != s.host && r.Host != "localhost:"+s.port {
		return false, errHost
	}
	if o := r.Header.Get("Origin"); o != "" && o != "http://"+r.Host {
		return false, errOrigin
	}
	if s.is(r.URL.Query().Get("token")) {
		return true, nil
	}
	if bearer, ok := guard.Bearer(r); ok && s.is(bearer) {
		return false, nil
	}
	for _, c := range r.CookiesNamed(s.cookie()) {
		if s.is(c.Value) {
			return false, nil
		}
	}
	return false, errToken
}

func (s *Server) cookie() string { return cookiePrefix + s.port }

// is reports whether token is the server's, in a time that does not tell how much of it is.
func (s *Server) is(token string) bool {
	return guard.Same(token, s.token)
}

// limited is a listener that holds a bounded number of connections.
type limited struct {
	net.Listener
	free   chan struct{}
	once   sync.Once
	closed chan struct{}
}

// Accept waits until there is a connection and room for it.
func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.free <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.free
		return nil, err
	}
	return &limitedConn{Conn: c, leave: sync.OnceFunc(func() { <-l.free })}, nil
}

func (l *limited) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type limitedConn struct {
	net.Conn
	leave func()
}

func (c *limitedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
