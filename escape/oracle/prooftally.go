package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"

	"golang.org/x/tools/txtar"

	"github.com/lastuse/lastuse/escape/internal/proof"
)

// tallyRow counts trials, of all programs or of those with one construct.
type tallyRow struct {
	trials, wrong, wrongly  int // wrong: known to be; wrongly: of these, accepted
	accepted                int
	right, rightly          int // by construction, where a planner would free; of these, accepted
	late, lateAccepted      int // by construction, later than that
	doubtful, doubtAccepted int
}

func (r *tallyRow) add(v *verdict) {
	r.trials++
	yes := 0
	if v.answer.accepted() {
		yes = 1
	}
	r.accepted += yes
	switch {
	case v.truth == wrong:
		r.wrong++
		r.wrongly += yes
	case v.truth == doubtful:
		r.doubtful++
		r.doubtAccepted += yes
	case v.Last:
		r.right++
		r.rightly += yes
	default:
		r.late++
		r.lateAccepted += yes
	}
}

// tally sums up verdicts.
type tally struct {
	o       options
	trials  int
	all     tallyRow
	tags    map[string]*tallyRow
	hows    map[string]*tallyRow
	reasons map[string]int // of all that was withheld
	refused map[string]int // of what was right
	rules   map[proof.Rule]*verdict
	caught  map[proof.Rule]int
	bad     []*verdict
	lost    []*verdict // right, withheld
	unsure  []*verdict // accepted, doubtful
	faults  []*verdict // faults of the judge, not counted as trials
}

func newTally(o options) *tally {
	return &tally{o: o, tags: map[string]*tallyRow{}, hows: map[string]*tallyRow{}, reasons: map[string]int{}, refused: map[string]int{},
		rules: map[proof.Rule]*verdict{}, caught: map[proof.Rule]int{}}
}

func rowOf(m map[string]*tallyRow, key string) *tallyRow {
	if m[key] == nil {
		m[key] = &tallyRow{}
	}
	return m[key]
}

var names = regexp.MustCompile(`\b(?:p\d+\w*|[HP]\d+\w*|[a-zA-Z]+\d+\w*|\d+)\b`)

func (t *tally) add(v *verdict) {
	if v.fault != "" {
		t.faults = append(t.faults, v)
		return
	}
	t.trials++
	t.all.add(v)
	for tag := range v.Old.Tags {
		rowOf(t.tags, tag).add(v)
	}
	rowOf(t.hows, v.How).add(v)
	if w := v.answer.why; w != nil {
		key := string(w.Rule) + ": " + names.ReplaceAllString(w.Words, "…")
		t.reasons[key]++
		if v.truth == right && v.Last {
			t.refused[key]++
		}
	}
	for _, r := range v.rules {
		t.caught[r]++
		if old := t.rules[r]; old == nil || len(v.source[0].Main) < len(old.source[0].Main) {
			t.rules[r] = v
		}
	}
	const most = 40
	yes := v.answer.accepted()
	switch {
	case yes && v.truth == wrong && len(t.bad) < most:
		t.bad = append(t.bad, v)
	case yes && v.truth == doubtful && len(t.unsure) < most:
		t.unsure = append(t.unsure, v)
	case !yes && v.truth == right && v.Last && len(t.lost) < most:
		t.lost = append(t.lost, v)
	}
}

func (t *tally) table(b *strings.Builder, title string, rows map[string]*tallyRow) {
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "%s\ttrials\twrong\taccepted wrongly\tright\taccepted\tshare\tright, later\taccepted\tdoubtful\taccepted\t\n", title)
	for _, k := range slices.Sorted(maps.Keys(rows)) {
		r := rows[k]
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%s\t%d\t%d\t%d\t%d\t\n", k, r.trials, r.wrong, r.wrongly, r.right, r.rightly,
			percent(r.rightly, r.right), r.late, r.lateAccepted, r.doubtful, r.doubtAccepted)
	}
	w.Flush()
}

func counts(b *strings.Builder, title string, m map[string]int) {
	fmt.Fprintf(b, "\n%s\n", title)
	for _, k := range slices.SortedFunc(maps.Keys(m), func(x, y string) int {
		if m[x] != m[y] {
			return m[y] - m[x]
		}
		return strings.Compare(x, y)
	}) {
		fmt.Fprintf(b, "%8d  %s\n", m[k], k)
	}
}

// String is the report.
func (t *tally) String() string {
	var b strings.Builder
	t.table(&b, "construct", t.tags)
	b.WriteString("\n")
	t.table(&b, "trial", t.hows)
	counts(&b, "withheld, by reason:", t.reasons)
	counts(&b, "withheld though right, by reason:", t.refused)
	if t.o.rules {
		b.WriteString("\nwrong trials that are accepted when one rule is off:\n")
		for _, r := range proof.Rules {
			if v := t.rules[r]; v != nil {
				fmt.Fprintf(&b, "%8d  %s: -seed %d, program %d, trial %d: %s\n", t.caught[r], r, t.o.seed, v.id, v.number, v.How)
			} else {
				fmt.Fprintf(&b, "%8d  %s\n", 0, r)
			}
		}
	}
	for _, v := range t.faults {
		said := "withheld"
		if v.answer.accepted() {
			said = "accepted" // so a wrong one may hide here
		}
		fmt.Fprintf(&b, "\nfault of the judge: -seed %d, program %d, trial %d, %s: %s\n", t.o.seed, v.id, v.number, said, v.fault)
	}
	a := t.all
	fmt.Fprintf(&b, "\ntrials: %d; known to be wrong: %d; accepted of these: %d\n", a.trials, a.wrong, a.wrongly)
	fmt.Fprintf(&b, "right by construction, where a planner would free: accepted %s (%d of %d); later than that: %s (%d of %d)\n",
		percent(a.rightly, a.right), a.rightly, a.right, percent(a.lateAccepted, a.late), a.lateAccepted, a.late)
	fmt.Fprintf(&b, "neither: accepted %s (%d of %d)\n", percent(a.doubtAccepted, a.doubtful), a.doubtAccepted, a.doubtful)
	fmt.Fprintf(&b, "accepted in all: %d, withheld: %d\n", a.accepted, a.trials-a.accepted)
	return b.String()
}

// save writes what was accepted wrongly, and some of what else is worth a look, as txtar
// files.
func (t *tally) save(o options, log io.Writer) error {
	for _, v := range t.bad {
		fmt.Fprintf(log, "accepted wrongly: -seed %d, program %d, trial %d: %s: %s\n", o.seed, v.id, v.number, v.How, v.why)
	}
	if o.fails == "" {
		return nil
	}
	if err := os.MkdirAll(o.fails, 0o755); err != nil {
		return err
	}
	for kind, list := range map[string][]*verdict{"wrong": t.bad, "lost": t.lost, "unsure": t.unsure} {
		for _, v := range list {
			a := &txtar.Archive{Comment: fmt.Appendf(nil, "-seed %d, program %d, trial %d: %s\ntruth: %s\nproof: %v\n", o.seed, v.id, v.number, v.How, v.why, v.answer.why)}
			for i, name := range []string{"old", "new"} {
				a.Files = append(a.Files, txtar.File{Name: name + "/progs/prog.go", Data: []byte(v.source[i].Main)})
				if v.source[i].Help != "" {
					a.Files = append(a.Files, txtar.File{Name: name + "/help/help.go", Data: []byte(v.source[i].Help)})
				}
			}
			name := fmt.Sprintf("%s-%d-%d.txtar", kind, v.id, v.number)
			if err := os.WriteFile(filepath.Join(o.fails, name), txtar.Format(a), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}
