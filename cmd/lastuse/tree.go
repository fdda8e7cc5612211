package main

import (
	"encoding/json"
	"io"

	"github.com/lastuse/lastuse/cmd/lastuse/internal/apply"
	"github.com/lastuse/lastuse/cmd/lastuse/internal/load"
)

// The JSON tree of go/analysis: package → analyzer → list of diagnostics, or an
// error. It differs from that of go vet in the names of files, which are
// relative to the current folder where they are below it, and in edits, whose
// offsets always count in the file that is named, also for //line and cgo.
type (
	jsonTree map[string]map[string]any

	jsonError struct {
		Err string `json:"error"`
	}

	jsonDiagnostic struct {
		Category       string        `json:"category,omitempty"`
		Posn           string        `json:"posn"` // file:line:column
		End            string        `json:"end"`
		Message        string        `json:"message"`
		SuggestedFixes []jsonFix     `json:"suggested_fixes,omitempty"`
		Related        []jsonRelated `json:"related,omitempty"`
	}

	jsonFix struct {
		Message string     `json:"message"`
		Edits   []jsonEdit `json:"edits"`
	}

	jsonEdit struct {
		Filename string `json:"filename"`
		Start    int    `json:"start"` // bytes
		End      int    `json:"end"`
		New      string `json:"new"`
	}

	jsonRelated struct {
		Posn    string `json:"posn"`
		End     string `json:"end"`
		Message string `json:"message"`
	}
)

func (c *command) tree(w io.Writer, units []*load.Unit, findings []*finding) {
	tree := jsonTree{}
	at := func(u *load.Unit) map[string]any {
		id := u.Pkg.ID
		if len(c.tags) > 1 && u.Prog.Tags != "" {
			id += " -tags=" + u.Prog.Tags
		}
		if tree[id] == nil {
			tree[id] = map[string]any{}
		}
		return tree[id]
	}
	for _, u := range units {
		if u.Err != nil {
			at(u)[c.analyzer.Name] = jsonError{c.relativeText(u.Err.Error())}
		}
	}
	for _, f := range findings {
		d := jsonDiagnostic{Category: f.Category, Posn: f.pos.String(), End: f.end.String(), Message: f.Message}
		if fix := c.jsonFix(f); fix != nil {
			d.SuggestedFixes = []jsonFix{*fix}
		}
		for _, r := range f.Related {
			end := r.End
			if !end.IsValid() {
				end = r.Pos
			}
			d.Related = append(d.Related, jsonRelated{c.position(f.unit, r.Pos).String(), c.position(f.unit, end).String(), r.Message})
		}
		m := at(f.unit)
		diags, _ := m[c.analyzer.Name].([]jsonDiagnostic)
		m[c.analyzer.Name] = append(diags, d)
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "\t")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(tree); err != nil {
		c.fail("%v", err)
	}
}

// jsonFix returns the edits of a finding, nil if it has none that can be made.
func (c *command) jsonFix(f *finding) *jsonFix {
	if len(f.Edits) == 0 {
		return nil
	}
	ch := apply.NewChange(f.unit, f.fn, f.Edits)
	if ch.Refused != "" || c.moved[ch.File()] != nil {
		return nil // of a file that is not there any more
	}
	fix := &jsonFix{Message: f.Fix}
	for _, e := range ch.Edits() {
		fix.Edits = append(fix.Edits, jsonEdit{c.relative(ch.File()), e.Start, e.End, e.Text})
	}
	return fix
}
