//go:build !lastuse_nohttp

package tracker

import (
	"bytes"
	"crypto/rand"
	_ "embed"
	"encoding/base64"
	"io"
	"net/http"
	"strings"
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
// handler for anything. Like [Tracker.Handler] it checks no rights.
//
//	mux.Handle("/debug/foreignheap", books.Page())
func (t *Tracker) Page() http.Handler {
	return readOnly(func(w http.ResponseWriter, r *http.Request) {
		switch format := r.FormValue("format"); format {
		case "json":
			send(w, "application/json", t.WriteJSON)
		case "text":
			send(w, "text/plain; charset=utf-8", t.WriteText)
		case "":
			nonce := random()
			w.Header().Set("Content-Security-Policy", "default-src 'none'; connect-src 'self'; script-src 'nonce-"+nonce+
				"'; style-src 'nonce-"+nonce+"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
			send(w, "text/html; charset=utf-8", func(w io.Writer) error {
				_, err := io.WriteString(w, strings.ReplaceAll(page, noncePlace, nonce))
				return err
			})
		default:
			http.Error(w, "unknown format, want json or text or none", http.StatusBadRequest)
		}
	})
}

// page is the page, with noncePlace where the nonce of its script and style goes. No template
// package: they keep the linker from dropping unused methods of the whole program.
//
//go:embed page.html
var page string

const noncePlace = "{{nonce}}"

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

// random returns 128 random bits as text for a URL.
func random() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}
