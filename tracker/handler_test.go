//go:build !lastuse_nohttp

package tracker

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/internal/books"
)

// someBooks are books with something in them, until the test ends.
func someBooks(t *testing.T, o Options) *Tracker {
	tracker := New(o)
	a := account(tracker, "host")
	a.AddReserved(1 << 20)
	a.SetMap(func() []books.Segment {
		blocks := []books.Block{{Offset: 0, Size: 4096, State: "live"}, {Offset: 4096, Size: 1<<20 - 4096, State: "idle"}}
		return []books.Segment{{Base: 0x7000, Size: 1 << 20, Blocks: blocks}}
	})
	makeSome(shardOf(a), 4096)
	tracker.Alloc(0x1000, 70)
	t.Cleanup(func() { runtime.KeepAlive(a) })
	return tracker
}

func get(t *testing.T, h http.Handler, target string) *http.Response {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
	return w.Result()
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return string(b)
}

func TestHandler(t *testing.T) {
	h := someBooks(t, Options{Rate: 1}).Handler()
	r := get(t, h, "/debug/pprof/foreignheap")
	require.Equal(t, http.StatusOK, r.StatusCode)
	path := filepath.Join(t.TempDir(), "profile")
	require.NoError(t, os.WriteFile(path, []byte(body(t, r)), 0o600))
	require.Contains(t, pprof(t, "-raw", path), "makeSome")

	r = get(t, h, "/debug/pprof/foreignheap?debug=1")
	require.Equal(t, "text/plain; charset=utf-8", r.Header.Get("Content-Type"))
	text := body(t, r)
	require.Contains(t, text, "foreign heap: live 4.1 KiB in 2")
	require.Regexp(t, `makeSome\n\t\t\S+/profile_test\.go:\d+\n`, text)
}

func TestPage(t *testing.T) {
	h := someBooks(t, Options{Rate: 1}).Page()
	r := get(t, h, "/debug/foreignheap")
	policy, page := r.Header.Get("Content-Security-Policy"), body(t, r)
	nonce := regexp.MustCompile(`'nonce-([^']+)'`).FindStringSubmatch(policy)[1]
	require.NotContains(t, page, "{{")
	for _, tag := range regexp.MustCompile(`<(script|link)[^>]*>`).FindAllString(page, -1) {
		require.Contains(t, tag, `nonce="`+nonce+`"`)
	}
	require.NotEqual(t, policy, get(t, h, "/debug/foreignheap").Header.Get("Content-Security-Policy"), "a new nonce each time")
	// The page asks nobody else for anything, and each of its files is there.
	files := regexp.MustCompile(`"(?:\./foreignheap)?\?file=([^"]+)"`).FindAllStringSubmatch(page, -1)
	require.NotRegexp(t, `(?i)(src|href)="[^?]|https?://`, page)
	require.Len(t, files, 10)
	for _, f := range files {
		r := get(t, h, "/debug/foreignheap?file="+f[1])
		require.Equal(t, http.StatusOK, r.StatusCode, f[1])
		require.Contains(t, r.Header.Get("Content-Type"), map[bool]string{true: "javascript", false: "css"}[strings.HasSuffix(f[1], ".js")])
		text := body(t, r)
		if !strings.HasPrefix(f[1], "uplot/") {
			require.NotRegexp(t, `(?i)https?://|@import|url\(|innerHTML`, text, f[1])
		}
		for _, m := range regexp.MustCompile(`from "(\./[^"]+)"`).FindAllStringSubmatch(text, -1) {
			require.Contains(t, page, `"`+m[1]+`": "./foreignheap?file=`, "the import map has it")
		}
	}
	// Mounted elsewhere the modules are found too, and a hostile path stays a path.
	require.Contains(t, body(t, get(t, h, "/x/")), `"./chart.js": "./?file=chart.js"`)
	require.Contains(t, body(t, get(t, http.StripPrefix("/a", h), "/a/b")), `"./chart.js": "./b?file=chart.js"`)
	require.NotContains(t, body(t, get(t, h, "/%22%3C/script%3E%3Cb")), "<blink")
	for _, name := range []string{"", "index.html", "../handler.go", "uplot/LICENSE", "x.js"} {
		require.Equal(t, http.StatusNotFound, get(t, h, "/?file="+name).StatusCode, name)
	}

	r = get(t, h, "/?format=json")
	require.Equal(t, "application/json", r.Header.Get("Content-Type"))
	var got report
	require.NoError(t, json.Unmarshal([]byte(body(t, r)), &got))
	require.Equal(t, reportVersion, got.Version)
	require.Equal(t, int64(4096+70), got.Stats.Live)
	require.Len(t, got.Sites, 2)
	require.Equal(t, "host", got.Segments[0].Account)
	require.Len(t, got.Segments[0].Blocks, 2)

	require.Equal(t, http.StatusBadRequest, get(t, h, "/?format=xml").StatusCode)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", nil))
	require.Equal(t, http.StatusMethodNotAllowed, w.Code)
}

// TestJSONOfNothing has lists where there is nothing in them.
func TestJSONOfNothing(t *testing.T) {
	text := body(t, get(t, New(Options{}).Page(), "/?format=json"))
	for _, want := range []string{`"sites":[]`, `"segments":[]`, `"accounts":[]`} {
		require.Contains(t, text, want)
	}
}

// TestNobodyRegisters checks that making handlers adds nothing to the default mux.
func TestNobodyRegisters(t *testing.T) {
	books := someBooks(t, Options{})
	books.Handler()
	books.Page()
	for _, path := range []string{PagePath, ProfilePath} {
		_, pattern := http.DefaultServeMux.Handler(httptest.NewRequest(http.MethodGet, path, nil))
		require.Empty(t, pattern)
	}
}

func TestServe(t *testing.T) {
	s, err := someBooks(t, Options{Rate: 1}).Serve("127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	plain, _, _ := strings.Cut(s.URL(), "?")
	other, err := New(Options{}).Serve(":0")
	require.NoError(t, err)
	defer other.Close()
	require.NotEqual(t, s.guard.Token(), other.guard.Token())

	browser := func(r *http.Request) { r.Header.Set("Accept", "text/html,*/*") }
	for name, c := range map[string]struct {
		url    string
		change func(*http.Request)
		status int
	}{
		"token in the URL":     {s.URL() + "&format=json", nil, http.StatusOK},
		"profile":              {s.ProfileURL(), nil, http.StatusOK},
		"bearer in lower case": {plain, func(r *http.Request) { r.Header.Set("Authorization", "bearer "+s.guard.Token()) }, http.StatusOK},
		"bearer":               {plain, func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+s.guard.Token()) }, http.StatusOK},
		"no token":             {plain, nil, http.StatusUnauthorized},
		"wrong token":          {plain + "?token=x", browser, http.StatusUnauthorized},
		"empty token":          {plain + "?token=", nil, http.StatusUnauthorized},
		"another's token":      {plain + "?token=" + other.guard.Token(), nil, http.StatusUnauthorized},
		"another host":         {s.URL(), func(r *http.Request) { r.Host = "evil.example" }, http.StatusMisdirectedRequest},
		"host without port":    {s.URL(), func(r *http.Request) { r.Host = "127.0.0.1" }, http.StatusMisdirectedRequest},
		"page elsewhere":       {s.URL(), func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") }, http.StatusForbidden},
		"sandboxed page":       {s.URL(), func(r *http.Request) { r.Header.Set("Origin", "null") }, http.StatusForbidden},
		"own origin":           {s.URL(), func(r *http.Request) { r.Header.Set("Origin", "http://"+s.host) }, http.StatusOK},
		"nothing at the root":  {"http://" + s.host + "/?token=" + s.guard.Token(), nil, http.StatusNotFound},
		"as localhost":         {s.URL(), func(r *http.Request) { r.Host = "localhost" + s.host[strings.LastIndexByte(s.host, ':'):] }, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			req, err := http.NewRequest(http.MethodGet, c.url, nil)
			require.NoError(t, err)
			if c.change != nil {
				c.change(req)
			}
			r, err := http.DefaultTransport.RoundTrip(req)
			require.NoError(t, err)
			text := body(t, r)
			require.Equal(t, c.status, r.StatusCode)
			require.Empty(t, r.Header.Get("Set-Cookie"))
			if c.status >= 400 {
				require.NotContains(t, text, "makeSome")
			}
		})
	}
}

// TestTwoServers opens the pages of two programs in one browser: each goes on to be read.
func TestTwoServers(t *testing.T) {
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	browser := http.Client{Jar: jar}
	var pages []string
	for range 2 {
		s, err := New(Options{}).Serve("127.0.0.1:0")
		require.NoError(t, err)
		defer s.Close()
		req, err := http.NewRequest(http.MethodGet, s.URL(), nil)
		require.NoError(t, err)
		req.Header.Set("Accept", "text/html,*/*") // as a browser does
		r, err := browser.Do(req)
		require.NoError(t, err)
		require.Contains(t, body(t, r), "url="+PagePath+`"`)
		pages = append(pages, "http://"+s.host+PagePath)
	}
	for _, page := range pages {
		r, err := browser.Get(page + "?format=json")
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, r.StatusCode)
		require.Contains(t, body(t, r), `"stats"`)
	}
}

func TestServeRefusesOthers(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", "192.0.2.1:0", "[::]:0", "example.org:80", "nonsense"} {
		_, err := New(Options{}).Serve(address)
		require.ErrorContains(t, err, "tracker: serve:", address)
	}
}

// TestStalledReader opens more connections than are held and reads nothing from
// them: the books are not held up, and the server ends.
func TestStalledReader(t *testing.T) {
	books := someBooks(t, Options{Rate: 1})
	s, err := books.Serve("127.0.0.1:0")
	require.NoError(t, err)
	for range serverConns + 5 {
		c, err := net.Dial("tcp", s.host)
		require.NoError(t, err)
		defer c.Close()
		_, err = fmt.Fprintf(c, "GET %s?format=json HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", PagePath, s.host, s.guard.Token())
		require.NoError(t, err)
	}
	books.Alloc(0x2000, 1)
	require.NoError(t, s.Close())
}

// brokenWriter fails after so many bytes.
type brokenWriter int

func (w *brokenWriter) Write(b []byte) (int, error) {
	if *w -= brokenWriter(len(b)); *w < 0 {
		return 0, errors.New("disk full")
	}
	return len(b), nil
}

func TestWritersReport(t *testing.T) {
	books := someBooks(t, Options{Rate: 1})
	for name, write := range map[string]func(io.Writer) error{
		"profile": books.WriteProfile, "json": books.WriteJSON, "text": books.WriteText,
	} {
		for _, room := range []brokenWriter{0, 10, 200} {
			require.ErrorContains(t, write(&room), "disk full", name)
		}
	}
}
