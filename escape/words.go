package escape

// Texts for people get the places that they name at last, when nothing is added to them any more.

import (
	"github.com/lastuse/lastuse/escape/internal/report"
)

// words finishes a text of the package, and notes its places in res.
func (p *subject) words(res *Result, text string) string {
	text, places := report.Words(text, p.line)
	if len(places) > 0 {
		if res.places == nil {
			res.places = map[string][]report.Place{}
		}
		res.places[text] = places
	}
	return text
}

// say finishes the texts of res.
func (p *subject) say(res *Result) {
	for _, f := range res.Funcs {
		for _, b := range f.Buffers {
			b.Reason, b.Callee = p.words(res, b.Reason), p.words(res, b.Callee)
			for i := range b.Path {
				b.Path[i].Text = p.words(res, b.Path[i].Text)
			}
			for i := range b.Frees {
				b.Frees[i].Why = p.words(res, b.Frees[i].Why)
			}
		}
		for _, fd := range f.Findings {
			fd.Message = p.words(res, fd.Message)
			for i := range fd.Related {
				fd.Related[i].Message = p.words(res, fd.Related[i].Message)
			}
		}
	}
}
