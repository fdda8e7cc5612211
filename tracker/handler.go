//go:build !lastuse_nohttp

package tracker

import (
	"bytes"
	"embed"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/lastuse/lastuse/internal/guard"
	"github.com/lastuse/lastuse/internal/page"
)

// Handler returns a handler that serves [Tracker.WriteProfile]. Mount it where `go tool
// pprof` looks for profiles:
//
//	mux.Handle("/debug/pprof/foreignheap", books.Handler())
//
// With ?debug=1 it serves the text of [Tracker.WriteText]. It does not register itself and
// checks no rights: whoever mounts it decides who may ask.
func (t *Tracker) Handler() http.Handler {
	return readOnly(func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("debug") != "" && r.FormValue("debug") != "0" {
			send(w, "text/plain; charset=utf-8", t.WriteText)
			return
		}
		w.Header().Set("Content-Disposition", `attachment; filename="foreignheap.pb.gz"`)
		send(w, "application/octet-stream", t.WriteProfile)
	})
}

// Page returns a handler that serves the report: as a page that draws the size of the
// foreign heap over time, its sites and the pools' segments, with ?format=json as
// [Tracker.WriteJSON] and with ?format=text as [Tracker.WriteText]. The page asks nobody but this
// handler for anything: its files are ?file=NAME. Like [Tracker.Handler] it checks no rights.
//
//	mux.Handle("/debug/foreignheap", books.Page())
func (t *Tracker) Page() http.Handler {
	return readOnly(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		format := q.Get("format")
		switch {
		case q.Has("file"):
			sendFile(w, q.Get("file"))
		case format == "json":
			send(w, "application/json", t.WriteJSON)
		case format == "text":
			send(w, "text/plain; charset=utf-8", t.WriteText)
		case format == "":
			nonce := guard.Token()
			w.Header().Set("Content-Security-Policy", "default-src 'none'; connect-src 'self'; script-src 'nonce-"+nonce+
				"'; style-src 'nonce-"+nonce+"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
			text := strings.NewReplacer("{{nonce}}", nonce, "{{here}}", here(r)).Replace(index)
			send(w, "text/html; charset=utf-8", func(w io.Writer) error {
				_, err := io.WriteString(w, text)
				return err
			})
		default:
			http.Error(w, "unknown format, want json or text or none", http.StatusBadRequest)
		}
	})
}

// here returns the last part of the path that was asked for, wherever the handler is mounted.
func here(r *http.Request) string {
	u, err := url.ParseRequestURI(r.RequestURI)
	if err != nil || strings.HasSuffix(u.Path, "/") {
		return ""
	}
	return path.Base(u.EscapedPath())
}

// index is the page, with places for the nonce of its scripts and styles and for its own name: the modules
// find one another by its import map, whose addresses need one. No template package: they keep the linker
// from dropping unused methods of the whole program.
//
//go:embed static/index.html
var index string

//go:embed static/page.css static/page.js
var static embed.FS

// sendFile answers with a file of this page or of all pages.
func sendFile(w http.ResponseWriter, name string) {
	kinds := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}
	kind := kinds[path.Ext(name)]
	b, err := static.ReadFile("static/" + name)
	if err != nil {
		b, err = fs.ReadFile(page.Files(), name)
	}
	if err != nil || kind == "" {
		http.Error(w, "there is no such file", http.StatusNotFound)
		return
	}
	send(w, kind, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

// readOnly lets only requests pass that read.
func readOnly(f http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "only GET is served here", http.StatusMethodNotAllowed)
			return
		}
		f(w, r)
	})
}

// send answers with what write writes. All of it is built first, so that a failure
// becomes an error status, and so that a reader that stalls holds up nobody.
func send(w http.ResponseWriter, kind string, write func(io.Writer) error) {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		w.Header().Del("Content-Disposition")
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	_, _ = w.Write(b.Bytes()) // the reader may have gone: nobody is left to tell
}
