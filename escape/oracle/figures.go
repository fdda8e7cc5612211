package main

import (
	"context"
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

	"github.com/lastuse/lastuse/escape/oracle/gen"
)

// row counts sites, of all programs or of those with one construct.
type row struct {
	programs, sites, freed, exact, left, wrong int
}

func (r *row) add(o *Outcome) {
	r.programs++
	if len(o.Wrong()) > 0 {
		r.wrong++
	}
	for _, v := range o.Verdicts {
		if v.Escapes || !v.Seen {
			continue
		}
		r.sites++
		if v.Freed {
			r.freed++
		}
		if v.Exact {
			r.exact++
		}
		if v.Left {
			r.left++
		}
	}
}

func percent(a, b int) string {
	if b == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f %%", 100*float64(a)/float64(b))
}

// reason is why buffers were left alone, or freed late.
type reason struct {
	count   int
	example *Outcome // the smallest program with it
}

// figures sums up outcomes.
type figures struct {
	o        options
	all      row
	programs int
	wrong    int
	escaping int
	unseen   int
	tags     map[string]*row
	kinds    map[Kind][]int // the programs' numbers
	reasons  map[string]*reason
	fails    []*Outcome // programs with wrong edits, a few of each kind
}

func newFigures(o options) *figures {
	return &figures{o: o, tags: map[string]*row{}, kinds: map[Kind][]int{}, reasons: map[string]*reason{}}
}

var volatile = regexp.MustCompile(`\bp\d+(?:f\d+|kit|pair|mats|emb|worker|w\d+)?(\.go:\d+)?\b|\bH\d+F\d+\b|\b(?:alloc\.Buffer\[\w+\]|\*rt\.(?:Mat|Tex))|\d+`)

// class is a reason without the names of the program.
func class(text string) string {
	if _, rest, ok := strings.Cut(text, ", made by "); ok {
		if _, rest, ok = strings.Cut(rest, ") "); ok {
			text = strings.TrimPrefix(rest, "is ")
		}
	}
	return volatile.ReplaceAllString(text, "…")
}

// miss is the class of reasons for a buffer that is not at the optimum.
func miss(o *Outcome, v Verdict) (key string) {
	how := "late"
	switch {
	case !v.Freed:
		how = "not freed"
	case v.Left:
		how = "left to the program's own free"
	}
	text := o.Reasons[v.Site]
	if text == "" {
		text = "(no reason given)"
	}
	return how + ": " + class(text)
}

func (f *figures) add(o *Outcome) {
	f.programs++
	f.all.add(o)
	for t := range o.Prog.Tags {
		if f.tags[t] == nil {
			f.tags[t] = &row{}
		}
		f.tags[t].add(o)
	}
	for _, v := range o.Verdicts {
		switch {
		case v.Escapes:
			f.escaping++
		case !v.Seen:
			f.unseen++
		case !v.Exact:
			key := miss(o, v)
			r := f.reasons[key]
			if r == nil {
				r = &reason{}
				f.reasons[key] = r
			}
			r.count++
			if r.example == nil || gen.Size(o.Prog) < gen.Size(r.example.Prog) {
				r.example = o
			}
		}
	}
	wrong := o.Wrong()
	if len(wrong) == 0 {
		return
	}
	f.wrong++
	k := wrong[0].Kind
	if f.kinds[k] = append(f.kinds[k], o.Prog.ID); len(f.kinds[k]) <= 8 {
		f.fails = append(f.fails, o)
	}
}

// short is the state in a few words.
func (f *figures) short() string {
	return fmt.Sprintf("freed %s, at the optimum %s (%s where it is ours), wrong %d %s",
		percent(f.all.freed, f.all.sites), percent(f.all.exact, f.all.sites), percent(f.all.exact, f.all.sites-f.all.left), f.wrong, f.wrongs())
}

func (f *figures) wrongs() string {
	var list []string
	for _, k := range kinds {
		if n := len(f.kinds[k]); n > 0 {
			list = append(list, fmt.Sprintf("%s %d", k, n))
		}
	}
	if list == nil {
		return ""
	}
	return "(" + strings.Join(list, ", ") + ")"
}

func (f *figures) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "construct\tprograms\tof all\tbuffers\tfreed\tat optimum\town free left late\twrong\t")
	for _, t := range slices.Sorted(maps.Keys(f.tags)) {
		r := f.tags[t]
		fmt.Fprintf(w, "%s\t%d\t%s\t%d\t%s\t%s\t%s\t%d\t\n", t, r.programs, percent(r.programs, f.programs), r.sites,
			percent(r.freed, r.sites), percent(r.exact, r.sites), percent(r.left, r.sites), r.wrong)
	}
	w.Flush()
	if len(f.reasons) > 0 {
		fmt.Fprintln(&b, "\nbuffers that never escape and are not at the optimum, by reason:")
		keys := slices.SortedFunc(maps.Keys(f.reasons), func(x, y string) int {
			if n := f.reasons[y].count - f.reasons[x].count; n != 0 {
				return n
			}
			return strings.Compare(x, y)
		})
		for _, k := range keys {
			fmt.Fprintf(&b, "%8d  %s\n", f.reasons[k].count, k)
		}
	}
	fmt.Fprintf(&b, "\nprograms: %d; sites that never escape: %d (and %d that may, %d never reached)\n", f.programs, f.all.sites, f.escaping, f.unseen)
	fmt.Fprintf(&b, "buffers that never escape, freed: %s (%d of %d)\n", percent(f.all.freed, f.all.sites), f.all.freed, f.all.sites)
	fmt.Fprintf(&b, "exactly at the liveness optimum: %s (%d of %d)\n", percent(f.all.exact, f.all.sites), f.all.exact, f.all.sites)
	ours := f.all.sites - f.all.left
	fmt.Fprintf(&b, "  without those that the program itself frees, only later, where the contract leaves its free alone: %s (%d of %d)\n",
		percent(f.all.exact, ours), f.all.exact, ours)
	fmt.Fprintf(&b, "wrong edits or changed outputs: %d %s\n", f.wrong, f.wrongs())
	for _, k := range kinds {
		if n := f.kinds[k]; len(n) > 0 {
			slices.Sort(n) // -n 1 -from NUMBER shows it
			fmt.Fprintf(&b, "  %s: %s\n", k, strings.Trim(fmt.Sprint(n), "[]"))
		}
	}
	return b.String()
}

// examples shrinks some of the wrong edits, and of the buffers left alone, and
// writes them as golden candidates.
func examples(ctx context.Context, or *Oracle, f *figures, o options, log io.Writer) error {
	if o.fails == "" {
		for _, oc := range f.fails {
			fmt.Fprint(log, describe(oc))
		}
		return nil
	}
	if err := os.MkdirAll(o.fails, 0o755); err != nil {
		return err
	}
	save := func(name, why string, oc *Outcome) error {
		a := &txtar.Archive{Comment: []byte(why)}
		a.Files = append(a.Files, txtar.File{Name: "orig.go", Data: []byte(oc.Orig)})
		a.Files = append(a.Files, txtar.File{Name: "fixed.go", Data: []byte(oc.Fixed)})
		return os.WriteFile(filepath.Join(o.fails, name+".txtar"), txtar.Format(a), 0o644)
	}
	slices.SortStableFunc(f.fails, func(a, b *Outcome) int {
		return slices.Index(kinds, a.Fails[0].Kind) - slices.Index(kinds, b.Fails[0].Kind)
	})
	for i, oc := range f.fails {
		if i < o.shrink {
			fmt.Fprintf(log, "shrink: %s", oc.Fails[0])
			oc = or.Shrink(ctx, oc, sameKind, log)
		}
		name := fmt.Sprintf("%s-%d", strings.ReplaceAll(string(oc.Fails[0].Kind), " ", "-"), f.fails[i].Prog.ID)
		if err := save(name, describe(oc), oc); err != nil {
			return err
		}
	}
	keys := slices.SortedFunc(maps.Keys(f.reasons), func(x, y string) int { return f.reasons[y].count - f.reasons[x].count })
	keys = slices.DeleteFunc(keys, func(k string) bool { return !strings.Contains(k, o.like) })
	for i, k := range keys {
		if i >= o.examples {
			break
		}
		r := f.reasons[k]
		fmt.Fprintf(log, "shrink: %d buffers %s\n", r.count, k)
		oc := or.Shrink(ctx, r.example, func(_, b *Outcome) bool {
			for _, v := range b.Verdicts {
				if v.Seen && !v.Escapes && !v.Exact {
					if miss(b, v) == k {
						return true
					}
				}
			}
			return false
		}, log)
		text := fmt.Sprintf("%d buffers: %s\n%s", r.count, k, describe(oc))
		for _, v := range oc.Verdicts {
			if t := oc.Reasons[v.Site]; t != "" {
				text += fmt.Sprintf("buffer of %d elements: %s\n", v.Site+gen.FirstSite, t)
			}
		}
		if err := save(fmt.Sprintf("reason-%02d", i), text, oc); err != nil {
			return err
		}
	}
	return nil
}
