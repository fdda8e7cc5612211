package main

// What the analyzer says of each buffer that it leaves alone, by program and site.

import (
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/lastuse/lastuse/escape/oracle/gen"
)

var (
	explainLine = regexp.MustCompile(`(progs|help)/p(\d+)\.go:(\d+)(?::\d+)?:? ?(.*)`)
	makerCall   = regexp.MustCompile(`(?:Make\[[^\]]*\]\([^,]*|\bNew\(c|NewOf\[[^\]]*\]\(c|Adopted\[[^\]]*\]\(c|Maybe\[[^\]]*\]\(c|Find\[[^\]]*\]\(c|Fresh\(c|(?:Maybe|Find|New|Must|Fresh)(?:Mat|Tex)\(c), (\d+)\)`)
	resizeCall  = regexp.MustCompile(`\.resize\(c, (\d+)\)`)
	ofFunction  = regexp.MustCompile(`([\w$]+)  (?:progs|help)/p\d+\.go`)
	madeBy      = regexp.MustCompile(`made by (?:[\w.()*]+\.)?(\w+)\) (?:is )?(kept|reported|handed on)`)
)

const handedOn = "handed on: returned to the caller"

// A remark is what the analyzer says of one buffer.
type remark struct {
	fn   string // the function that it says it of
	text string
}

// reasons maps program and site to what the analyzer says of it. Of what a function makes for
// its caller that is what it says there, and of what a box is resized to what it says of
// the box.
func (b *Batch) reasons() map[int]map[int]string {
	res := map[int]map[int]string{}
	lines := map[string][]string{}
	remarks := map[int]map[int]*remark{} // by program and site
	results := map[int]map[string][]*remark{}
	fn := ""
	var last *remark // the buffer that the lines at hand are about
	for _, l := range strings.Split(b.Explain, "\n") {
		if m := ofFunction.FindStringSubmatch(l); m != nil && !strings.HasPrefix(l, "\t") {
			fn, last = m[1], nil
			continue
		}
		m := explainLine.FindStringSubmatch(l)
		if m == nil {
			continue
		}
		id, _ := strconv.Atoi(m[2])
		n, _ := strconv.Atoi(m[3])
		file := b.path("fixed", m[1] == "help", id)
		if lines[file] == nil {
			text, _ := os.ReadFile(file)
			lines[file] = strings.Split(string(text), "\n")
		}
		if n < 1 || n > len(lines[file]) {
			continue
		}
		if remarks[id] == nil {
			remarks[id], results[id] = map[int]*remark{}, map[string][]*remark{}
		}
		say := func(call *regexp.Regexp, r *remark) bool {
			c := call.FindStringSubmatch(lines[file][n-1])
			if c == nil {
				return false
			}
			site, _ := strconv.Atoi(c[1])
			if remarks[id][site-gen.FirstSite] == nil {
				remarks[id][site-gen.FirstSite] = r
			}
			return true
		}
		switch {
		case strings.HasPrefix(l, "\t\t"):
			if last == nil {
				break
			}
			if _, why, ok := strings.Cut(m[4], "; no fix: "); ok && strings.HasSuffix(last.text, " is reported") {
				last.text += ": " + why
			}
			say(resizeCall, last)
		default:
			last = &remark{fn, m[4]}
			say(makerCall, last)
			if c := madeBy.FindStringSubmatch(m[4]); c != nil {
				results[id][c[1]] = append(results[id][c[1]], last)
			}
		}
	}
	for id, sites := range remarks {
		res[id] = map[int]string{}
		for site, r := range sites {
			seen := map[string]bool{}
			text := r.text
			for strings.HasSuffix(r.text, handedOn) && !seen[r.fn] && len(results[id][r.fn]) > 0 {
				seen[r.fn] = true
				r = results[id][r.fn][0]
				text = r.text
			}
			res[id][site] = text
		}
	}
	return res
}
