package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/lastuse/lastuse/escape/oracle/gen"
)

// An Outcome is what a batch says of one program.
type Outcome struct {
	Prog     *gen.Program
	Verdicts []Verdict
	Fails    []Failure
	Reasons  map[int]string // site → why the analyzer kept it
	Orig     string         // source, kept for failures only
	Fixed    string
}

// Wrong returns the failures that are wrong edits.
func (o *Outcome) Wrong() []Failure {
	var res []Failure
	for _, f := range o.Fails {
		if f.Kind.Wrong() {
			res = append(res, f)
		}
	}
	return res
}

// insert puts f behind what is wrong already.
func (o *Outcome) insert(f Failure) {
	i := slices.IndexFunc(o.Fails, func(g Failure) bool { return !g.Kind.Wrong() })
	if i < 0 {
		i = len(o.Fails)
	}
	o.Fails = slices.Insert(o.Fails, i, f)
}

// An Oracle runs batches.
type Oracle struct {
	Rewriter Rewriter
	Pool     Pool
	Options  RunOptions
	Temp     string // folder for batches
	Keep     bool   // leave the folders of batches
	Readable bool   // check that inserted frees stand behind all reads
	Stable   bool   // check that a second rewrite changes nothing
}

// Run runs the programs as one batch.
func (o *Oracle) Run(ctx context.Context, progs []*gen.Program) ([]*Outcome, error) {
	dir, err := os.MkdirTemp(o.Temp, "batch")
	if err != nil {
		return nil, err
	}
	if !o.Keep {
		defer os.RemoveAll(dir)
	}
	b, err := newBatch(dir, o.Pool)
	if err != nil {
		return nil, err
	}
	for _, side := range []string{"orig", "fixed"} {
		if err := b.put(side, progs); err != nil {
			return nil, err
		}
	}
	explain, err := o.Rewriter.Rewrite(ctx, dir+"/fixed")
	if err != nil {
		if len(progs) == 1 && ctx.Err() == nil {
			return []*Outcome{{Prog: progs[0], Orig: b.source("orig", progs[0].ID), Fails: []Failure{{
				Kind: Crash, ID: progs[0].ID, Site: -1, Fault: gen.NoFault, Text: err.Error(),
			}}}}, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		// One program brings the tool down: the halves find it.
		if t, ok := o.Rewriter.(tool); ok {
			t.limit = toolLimit / 4
			p := *o
			p.Rewriter = t
			o = &p
		}
		mid := len(progs) / 2
		first, err1 := o.Run(ctx, progs[:mid])
		second, err2 := o.Run(ctx, progs[mid:])
		return append(first, second...), errors.Join(err1, err2)
	}
	b.Explain = explain
	res, err := o.judge(ctx, b, progs)
	if t, ok := o.Rewriter.(tool); ok && o.Stable && err == nil {
		err = unstable(ctx, t, dir+"/fixed", res)
		for _, oc := range res {
			if len(oc.Fails) > 0 && oc.Orig == "" {
				oc.Orig, oc.Fixed = b.source("orig", oc.Prog.ID), b.source("fixed", oc.Prog.ID)
			}
		}
	}
	return res, err
}

// write writes the module of a batch to dir, rewritten, with what the analyzer
// says of it in dir/explain.
func (o *Oracle) write(ctx context.Context, dir string, progs []*gen.Program) error {
	b, err := newBatch(dir, o.Pool)
	if err != nil {
		return err
	}
	for _, side := range []string{"orig", "fixed"} {
		if err := b.put(side, progs); err != nil {
			return err
		}
	}
	explain, err := o.Rewriter.Rewrite(ctx, dir+"/fixed")
	if err != nil {
		return err
	}
	return write(dir+"/explain", explain)
}

// judge builds and runs a batch whose two sides are written.
func (o *Oracle) judge(ctx context.Context, b *Batch, progs []*gen.Program) ([]*Outcome, error) {
	bin, broken, err := b.build(ctx)
	if err != nil {
		return nil, err
	}
	out, err := b.execute(ctx, bin, o.Options)
	if err != nil {
		return nil, err
	}
	judges := map[int]*Judge{}
	for _, p := range progs {
		judges[p.ID] = NewJudge(p)
		if q := b.Edited[p.ID]; q != nil && broken[p.ID] == "" {
			judges[p.ID].Foretell(q)
		}
	}
	err = read(bytes.NewReader(out), func(id int) int { return len(judges[id].p.Sites) }, func(r *Record, sizes []int64) {
		judges[r.ID].sizes = sizes
		judges[r.ID].Add(r)
	})
	if err != nil {
		return nil, err
	}
	reasons := b.reasons()
	var res []*Outcome
	for _, p := range progs {
		oc := &Outcome{Prog: p, Reasons: reasons[p.ID]}
		oc.Verdicts, oc.Fails = judges[p.ID].Verdicts()
		if text := broken[p.ID]; text != "" {
			oc.Fails = append([]Failure{{Kind: NoType, ID: p.ID, Site: -1, Fault: gen.NoFault, Text: text}}, oc.Fails...)
		}
		if o.Readable && broken[p.ID] == "" {
			if list := unreadable(b.source("orig", p.ID), b.source("fixed", p.ID)); list != nil {
				oc.insert(Failure{Kind: Unread, ID: p.ID, Site: -1, Fault: gen.NoFault, Text: strings.Join(list, ", ")})
			}
		}
		if len(oc.Fails) > 0 {
			oc.Orig, oc.Fixed = b.source("orig", p.ID), b.source("fixed", p.ID)
		}
		res = append(res, oc)
	}
	return res, nil
}

var patchLine = regexp.MustCompile(`(?m)^\+\+\+ .*p(\d+)\.go`)

// unstable marks the programs that a second rewrite would change.
func unstable(ctx context.Context, t tool, dir string, res []*Outcome) error {
	patch, err := t.run(ctx, dir, "-diff")
	if err != nil {
		return err
	}
	for _, m := range patchLine.FindAllStringSubmatch(patch, -1) {
		id, _ := strconv.Atoi(m[1])
		for _, o := range res {
			if o.Prog.ID == id {
				o.Fails = append([]Failure{{Kind: Unstable, ID: id, Site: -1, Fault: gen.NoFault, Text: "a second rewrite changes it"}}, o.Fails...)
			}
		}
	}
	return nil
}

// programs generates the programs numbered from to to of a seed, but for those that have
// one of the constructs without.
func programs(seed uint64, from, to int, without ...string) []*gen.Program {
	var res []*gen.Program
	for i := from; i < to; i++ {
		p := gen.Generate(i, seed<<32+uint64(i))
		if !slices.ContainsFunc(without, func(tag string) bool { return p.Tags[tag] }) {
			res = append(res, p)
		}
	}
	return res
}

func describe(o *Outcome) string {
	var b strings.Builder
	for _, f := range o.Fails {
		fmt.Fprintln(&b, f)
	}
	return b.String()
}
