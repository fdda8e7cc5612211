package web

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/demo"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
)

// serve serves the demo session's end.
func serve(t *testing.T, o Options) *Server {
	r, err := demo.Open()
	require.NoError(t, err)
	h := heap.New(heap.Options{})
	for {
		var e heap.Event
		if r.Read(&e) == io.EOF {
			break
		}
		h.Apply(&e)
	}
	mu := make(chan struct{}, 1)
	o.Source = func(q heap.Query) *heap.Snapshot {
		mu <- struct{}{}
		defer func() { <-mu }()
		return h.Snapshot(q)
	}
	o.Timeline = func(pid uint32, start uint64, since time.Duration, most int) *heap.Timeline {
		mu <- struct{}{}
		defer func() { <-mu }()
		return h.Timeline(pid, start, h.Now()-int64(since), most)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := New(o, l.Addr())
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-done)
	})
	return s
}

// get asks with the token unless a header says otherwise.
func get(t *testing.T, s *Server, path string, header ...string) (int, string, http.Header) {
	t.Helper()
	r, err := http.NewRequest("GET", "http://"+s.addr+path, nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+s.guard.Token())
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		} else {
			r.Header.Set(header[i], header[i+1])
		}
	}
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(b), res.Header
}

func TestWhoMayAsk(t *testing.T) {
	s := serve(t, Options{Hosts: []string{"gpu.example"}})
	_, port, _ := net.SplitHostPort(s.addr)
	for _, c := range []struct {
		name   string
		path   string
		header []string
		want   int
	}{
		{"bearer", "/metrics", nil, 200},
		{"bearer in lower case", "/metrics", []string{"Authorization", "bearer " + s.guard.Token()}, 200},
		{"a name that was allowed", "/metrics", []string{"Host", "gpu.example:" + port}, 200},
		{"that name behind a proxy", "/metrics", []string{"Host", "gpu.example", "Origin", "https://gpu.example"}, 200},
		{"that name at another port", "/metrics", []string{"Host", "gpu.example:1"}, 421},
		{"another name's origin", "/metrics", []string{"Host", "gpu.example", "Origin", "https://evil.example"}, 403},
		{"localhost", "/", []string{"Host", "localhost:" + port}, 200},
		{"no token", "/metrics", []string{"Authorization", ""}, 401},
		{"wrong token", "/metrics", []string{"Authorization", "Bearer x"}, 401},
		{"token of another length", "/metrics", []string{"Authorization", "Bearer " + s.guard.Token() + "x"}, 401},
		{"wrong token in the address", "/?token=x", []string{"Authorization", ""}, 401},
		{"no token for files", "/page.js", []string{"Authorization", ""}, 401},
		{"a name made to resolve to us", "/", []string{"Host", "evil.example:" + port}, 421},
		{"an address that is not ours", "/", []string{"Host", "10.0.0.1:" + port}, 421},
		{"another port", "/", []string{"Host", "127.0.0.1:1"}, 421},
		{"another origin", "/snapshot.json", []string{"Origin", "http://evil.example"}, 403},
		{"our origin", "/snapshot.json", []string{"Origin", "http://" + s.addr}, 200},
		{"another port's origin", "/snapshot.json", []string{"Origin", "http://127.0.0.1:1"}, 403},
		{"no origin at all", "/snapshot.json", []string{"Origin", "null"}, 403},
		{"another site's request", "/snapshot.json", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"another port's request", "/snapshot.json", []string{"Sec-Fetch-Site", "same-site"}, 403},
		{"typed", "/", []string{"Sec-Fetch-Site", "none"}, 200},
		{"icon", "/icon.svg", nil, 200},
		{"not there", "/x", nil, 404},
		{"out of the folder", "/../server.go", nil, 404},
		{"bad pid", "/snapshot.json?pid=x", nil, 400},
	} {
		code, _, h := get(t, s, c.path, c.header...)
		require.Equal(t, c.want, code, c.name)
		require.Contains(t, h.Get("Content-Security-Policy"), "default-src 'none'", c.name)
		require.NotContains(t, h.Get("Content-Security-Policy"), "unsafe", c.name)
	}
	res, err := http.Post("http://"+s.addr+"/metrics", "text/plain", strings.NewReader("x"))
	require.NoError(t, err)
	res.Body.Close()
	require.Equal(t, 405, res.StatusCode)
	require.Len(t, s.guard.Token(), 32)
}

// TestEveryAddress listens on every address: the one that a request came to is good.
func TestEveryAddress(t *testing.T) {
	s := New(Options{Source: func(heap.Query) *heap.Snapshot { return new(heap.Snapshot) }}, &net.TCPAddr{IP: net.IPv4zero, Port: 8765})
	require.Contains(t, s.URL(), "http://127.0.0.1:8765/?token=")
	for host, want := range map[string]int{"10.1.2.3:8765": 200, "10.1.2.4:8765": 421, "10.1.2.3": 421, "pod:8765": 421, "localhost:8765": 200} {
		r := httptest.NewRequest("GET", "http://"+host+"/metrics", nil)
		r.Header.Set("Authorization", "Bearer "+s.guard.Token())
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 8765}))
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		require.Equal(t, want, w.Code, host)
	}
}

// TestCookie opens the printed address as a browser does.
func TestCookie(t *testing.T) {
	s := serve(t, Options{})
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	c := &http.Client{Jar: jar}
	r, err := http.NewRequest("GET", s.URL(), nil)
	require.NoError(t, err)
	r.Header.Set("Accept", "text/html,*/*") // as a browser does
	res, err := c.Do(r)
	require.NoError(t, err)
	res.Body.Close()
	require.Equal(t, 200, res.StatusCode)
	cookie := res.Header.Get("Set-Cookie")
	require.Contains(t, cookie, "HttpOnly")
	require.Contains(t, cookie, "SameSite=Strict")
	res, err = c.Get("http://" + s.addr + "/")
	require.NoError(t, err)
	b, err := io.ReadAll(res.Body)
	res.Body.Close()
	require.NoError(t, err)
	require.Equal(t, 200, res.StatusCode)
	require.Contains(t, string(b), "<title>memwatch</title>")
}

func TestAnswers(t *testing.T) {
	s := serve(t, Options{Hits: func() map[string]uint64 { return map[string]uint64{"cuMemAlloc_v2": 5} }, Wall: func(n int64) int64 { return n + 1e18 }})
	_, body, h := get(t, s, "/snapshot.json?pid=4101&top=1")
	require.Equal(t, "application/json", h.Get("Content-Type"))
	var doc struct {
		Schema    string
		Processes []struct {
			Name  string
			Sites []any
		}
	}
	require.NoError(t, json.Unmarshal([]byte(body), &doc))
	require.Equal(t, "memwatch/1", doc.Schema)
	require.Len(t, doc.Processes, 1)
	require.Equal(t, "trainer", doc.Processes[0].Name)
	require.Len(t, doc.Processes[0].Sites, 1)
	_, body, _ = get(t, s, "/metrics")
	require.Contains(t, body, `memwatch_probe_hits_total{func="cuMemAlloc_v2"} 5`)
	require.Contains(t, body, `foreignheap_live_bytes{class="device",comm="trainer",own="true",pid="4101"}`)
	_, body, _ = get(t, s, "/folded")
	require.Contains(t, body, "trainer-4101;main.main;main.train;main.(*Step).forward;main.(*Cache).put;[device] ")
	_, body, _ = get(t, s, "/debug/pprof/device")
	require.Equal(t, "\x1f\x8b", body[:2])
}

func TestEvents(t *testing.T) {
	s := serve(t, Options{Interval: 10 * time.Millisecond})
	open := func() *http.Response {
		r, err := http.NewRequest("GET", "http://"+s.addr+"/events", nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+s.guard.Token())
		res, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		return res
	}
	res := open()
	require.Equal(t, "text/event-stream", res.Header.Get("Content-Type"))
	in := bufio.NewReader(res.Body)
	for i := range 3 {
		id, err := in.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "id: "+string(rune('1'+i))+"\n", id)
		data, err := in.ReadString('\n')
		require.NoError(t, err)
		require.True(t, json.Valid([]byte(strings.TrimPrefix(data, "data: "))))
		blank, err := in.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "\n", blank)
	}
	all := []*http.Response{res}
	for len(all) < maxStreams {
		all = append(all, open())
	}
	over := open()
	require.Equal(t, http.StatusServiceUnavailable, over.StatusCode)
	over.Body.Close()
	for _, r := range all {
		r.Body.Close()
	}
	require.Eventually(t, func() bool { return len(s.streams) == 0 }, time.Minute, 10*time.Millisecond, "a reader that is gone frees its place")
}

// TestConnections opens more connections than there may be, and says nothing on them.
func TestConnections(t *testing.T) {
	s := serve(t, Options{})
	var open []net.Conn
	var refused atomic.Int64
	for range maxConns + 20 {
		c, err := net.Dial("tcp", s.addr)
		require.NoError(t, err)
		open = append(open, c)
	}
	for _, c := range open[maxConns:] {
		c.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := c.Read(make([]byte, 1)); err == io.EOF || strings.Contains(err.Error(), "reset") {
			refused.Add(1)
		}
	}
	require.Equal(t, int64(20), refused.Load())
	for _, c := range open {
		c.Close()
	}
	require.Eventually(t, func() bool {
		res, err := http.Get("http://" + s.addr + "/")
		if err != nil {
			return false
		}
		res.Body.Close()
		return res.StatusCode == 401
	}, time.Minute, 20*time.Millisecond)
}

// TestPageFits holds the page to what a small screen takes: every table scrolls by itself.
func TestPageFits(t *testing.T) {
	html, err := os.ReadFile("static/index.html")
	require.NoError(t, err)
	require.Equal(t, strings.Count(string(html), "<table"), strings.Count(string(html), `<div class="scroll"><table`))
	require.NotZero(t, strings.Count(string(html), "<table"))
	require.Contains(t, string(html), "width=device-width")
}

// TestPageIsClosed holds the page to its own policy: nothing inline, nothing from
// elsewhere, no markup made of text; and what it names is there.
func TestPageIsClosed(t *testing.T) {
	names, err := filepath.Glob("static/*.[hjc]*s*")
	require.NoError(t, err)
	names = append(names, "static/index.html")
	require.Greater(t, len(names), 3)
	s := serve(t, Options{})
	for _, name := range names {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, bad := range []string{"http:", "https:", "innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "style=", "onclick=", "<style", "javascript:"} {
			require.NotContains(t, string(b), bad, name)
		}
		for _, m := range regexp.MustCompile(`(?:from|src=|href=) ?"(/[^"]+)"`).FindAllStringSubmatch(string(b), -1) {
			code, _, _ := get(t, s, m[1])
			require.Equal(t, 200, code, "%s names %s", name, m[1])
		}
	}
}
