// Package guard is the door of the pages that programs serve of themselves: who may ask, and how many at
// once.
//
// A page tells what a program does, so its address carries a token that is made anew for each server. A
// [Guard] lets a request in that knows the token and comes from here: its Host is a name of this server's, so
// that no name elsewhere can be made to resolve to it, and neither its Origin nor its site is another's, so
// that no page elsewhere can ask through a browser. A browser gets the token once, in the address that is
// opened, and keeps it as a cookie that only its own pages send; a program sends it as ?token= or as a bearer
// token. [Limit] bounds how many connections a listener holds.
package guard

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"html"
	"net"
	"net/http"
	"strings"
)

// Options say who is let in.
type Options struct {
	Token string   // what a request must know; "" makes one
	Name  string   // of the cookie, with the port behind it: browsers share cookies among a host's ports
	Page  string   // path of the page that a person opens
	Hosts []string // names that the server goes by, besides its address
}

// A Guard decides for one listener. It may be used by several goroutines.
type Guard struct {
	opts    Options
	cookie  string
	hosts   map[string]bool
	origins map[string]bool // besides http at the host that was asked
}

// New returns a Guard for a listener's address.
func New(o Options, addr net.Addr) *Guard {
	if o.Token == "" {
		o.Token = Token()
	}
	host, port, _ := net.SplitHostPort(addr.String())
	g := &Guard{opts: o, cookie: o.Name + "-" + port, hosts: map[string]bool{addr.String(): true},
		origins: make(map[string]bool)}
	if ip := net.ParseIP(host); ip == nil || ip.IsLoopback() || ip.IsUnspecified() {
		g.hosts["127.0.0.1:"+port], g.hosts["localhost:"+port], g.hosts["[::1]:"+port] = true, true, true
	}
	for _, name := range o.Hosts { // as it is asked directly, and as a proxy that serves it hands requests on
		g.hosts[net.JoinHostPort(name, port)], g.hosts[name] = true, true
		g.origins["https://"+name] = true
	}
	return g
}

// Token returns a new random token, fit for an address.
func Token() string {
	var b [24]byte
	_, _ = rand.Read(b[:]) // it never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// Token returns what a request must know.
func (g *Guard) Token() string { return g.opts.Token }

// Wrap lets through to next who may ask, and answers all others itself.
func (g *Guard) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if h.Get("Content-Security-Policy") == "" {
			h.Set("Content-Security-Policy", "default-src 'none'")
		}
		if status, why := g.refuse(r); status != 0 {
			if status == http.StatusUnauthorized {
				h.Set("WWW-Authenticate", "Bearer")
			}
			http.Error(w, why, status)
			return
		}
		if r.URL.Path == g.opts.Page && r.URL.Query().Has("token") && strings.Contains(r.Header.Get("Accept"), "text/html") {
			g.keep(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// refuse returns the status and the words that a request is refused with, or 0.
func (g *Guard) refuse(r *http.Request) (status int, why string) {
	if !g.hosts[r.Host] && !isLocal(r) {
		return http.StatusMisdirectedRequest, "the request is for another host"
	}
	if o := r.Header.Get("Origin"); o != "" && o != "http://"+r.Host && !g.origins[o] {
		return http.StatusForbidden, "the request comes from a page elsewhere"
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return http.StatusMethodNotAllowed, "only GET is served here"
	}
	opened := r.URL.Path == g.opts.Page && r.URL.Query().Has("token") // from anywhere: a terminal, a mail
	if f := r.Header.Get("Sec-Fetch-Site"); !opened && f != "" && f != "same-origin" && f != "none" {
		return http.StatusForbidden, "the request comes from a page elsewhere"
	}
	if !g.knows(r) {
		return http.StatusUnauthorized, "the token is missing or wrong: open the address that the program printed"
	}
	return 0, ""
}

// keep gives a browser the cookie and sends it to the same address without the token, so that the token
// leaves the address bar, the history and what is copied from them. It is a page that does so, as a redirect
// would lose a strict cookie where the link came from another site.
func (g *Guard) keep(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, &http.Cookie{Name: g.cookie, Value: g.opts.Token, Path: "/", HttpOnly: true,
		SameSite: http.SameSiteStrictMode})
	q := r.URL.Query()
	q.Del("token")
	to := r.URL.Path
	if len(q) > 0 {
		to += "?" + q.Encode()
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	to = html.EscapeString(to)
	_, _ = fmt.Fprintf(w, `<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=%s"><a href="%s">go on</a>`, to, to)
}

// isLocal reports whether Host is the very address that the connection was made to, as a number: no name can
// be made to resolve to something that is not looked up.
func isLocal(r *http.Request) bool {
	a, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok || r.Host != a.String() {
		return false
	}
	host, _, err := net.SplitHostPort(r.Host)
	return err == nil && net.ParseIP(host) != nil
}

// knows reports whether a request has the token, in its address, its header or its cookie.
func (g *Guard) knows(r *http.Request) bool {
	if q := r.URL.Query(); q.Has("token") {
		return g.same(q.Get("token"))
	}
	if t, ok := bearer(r); ok {
		return g.same(t)
	}
	for _, c := range r.CookiesNamed(g.cookie) {
		if g.same(c.Value) {
			return true
		}
	}
	return false
}

// same reports whether a token is the server's, in a time that does not tell how much of it is.
func (g *Guard) same(token string) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(g.opts.Token)) == 1
}

// bearer returns the token in a request's Authorization header. The scheme may be in any case.
func bearer(r *http.Request) (token string, ok bool) {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	return strings.TrimLeft(token, " "), true
}
