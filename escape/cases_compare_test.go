package escape_test

// What a row of the corpus wants, compared with what was observed of it.

import (
	"fmt"
	"go/scanner"
	"go/token"
	"regexp"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// compare returns what differs between what r wants and what was observed.
func (r *row) compare(o *observation) []string {
	problems := slices.Clone(o.errs)
	say := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	for _, b := range o.bugs {
		say("the analyzer disagrees with itself: %v", b)
	}
	for name, src := range r.sources {
		want, got := src, src
		if g, ok := r.golden[name]; ok {
			want = g
		}
		if g, ok := o.edited[name]; ok {
			got = g
		}
		if got == want {
			continue
		}
		switch {
		case want == src:
			say("%s must stay as it is:\n%s", name, diff.Diff(name, []byte(src), "got", []byte(got)))
		case got == src:
			say("%s is not edited, wanted:\n%s", name, diff.Diff(name, []byte(src), "want", []byte(want)))
		case sameButNames(src, got, want):
			say("%s differs in names of temporaries only:\n%s", name, diff.Diff("want", []byte(want), "got", []byte(got)))
		default:
			say("%s is edited in another way:\n%s", name, diff.Diff("want", []byte(want), "got", []byte(got)))
		}
	}
	if !matchFindings(r.want, o.found) {
		say("findings differ:\nwant:\n%s\ngot:\n%s", indent(r.want), indent(o.found))
	}
	for _, k := range r.kept {
		if !slices.ContainsFunc(o.kept, func(p place) bool { return matchPlace(k, p) }) {
			say("not kept for that reason: %s\nkept:\n%s", k, indent(o.kept))
		}
	}
	for _, s := range r.skipped {
		if !slices.ContainsFunc(o.skipped, func(p place) bool { return matchPlace(s, p) }) {
			say("not skipped for that reason: %s\nskipped:\n%s", s, indent(o.skipped))
		}
	}
	if len(r.skipped) == 0 && len(o.skipped) > 0 {
		say("skipped:\n%s", indent(o.skipped))
	}
	return problems
}

var wantLine = regexp.MustCompile(`^(\S+:\d+) (\??)([a-z|-]+):(.*)$`)

// matchFindings compares the lines of a want file with the findings. The order
// within a line of the source is free.
func matchFindings(want []string, got []place) bool {
	rest := slices.Clone(got)
	for _, w := range want {
		m := wantLine.FindStringSubmatch(w)
		if m == nil {
			return false
		}
		re := regexp.MustCompile(strings.TrimSpace(m[4]))
		i := slices.IndexFunc(rest, func(p place) bool {
			return fmt.Sprintf("%s:%d", p.file, p.line) == m[1] &&
				slices.Contains(strings.Split(m[3], "|"), p.category) && re.MatchString(p.text)
		})
		if i >= 0 {
			rest = slices.Delete(rest, i, i+1)
		} else if m[2] == "" {
			return false
		}
	}
	return len(rest) == 0
}

// matchPlace reports whether p is what a line FILE:LINE REGEXP wants.
func matchPlace(line string, p place) bool {
	where, re, _ := strings.Cut(line, " ")
	return fmt.Sprintf("%s:%d", p.file, p.line) == where && regexp.MustCompile(strings.TrimSpace(re)).MatchString(p.text)
}

func indent[T any](list []T) string {
	var b strings.Builder
	for _, x := range list {
		fmt.Fprintf(&b, "\t%v\n", x)
	}
	if len(list) == 0 {
		b.WriteString("\t(none)\n")
	}
	return b.String()
}

// sameButNames reports whether a and b differ only in identifiers that src does
// not have: the names of temporaries that the edits invent.
func sameButNames(src, a, b string) bool {
	known := map[string]bool{}
	for _, t := range tokens(src) {
		known[t] = true
	}
	ta, tb := tokens(a), tokens(b)
	if len(ta) != len(tb) {
		return false
	}
	there, back := map[string]string{}, map[string]string{}
	for i := range ta {
		x, y := ta[i], tb[i]
		if x == y && known[x] {
			continue
		}
		if !token.IsIdentifier(x) || !token.IsIdentifier(y) || known[x] && known[y] {
			return x == y
		}
		if v, ok := there[x]; ok && v != y {
			return false
		}
		if v, ok := back[y]; ok && v != x {
			return false
		}
		there[x], back[y] = y, x
	}
	return true
}

func tokens(src string) []string {
	var s scanner.Scanner
	fset := token.NewFileSet()
	s.Init(fset.AddFile("", -1, len(src)), []byte(src), nil, scanner.ScanComments)
	var list []string
	for {
		_, tok, lit := s.Scan()
		if tok == token.EOF {
			return list
		}
		if lit == "" || tok == token.SEMICOLON {
			lit = tok.String()
		}
		list = append(list, lit)
	}
}
