package main

import (
	"slices"

	"gonum.org/v1/plot"
)

// watcherName is how tables and plots name a watcher.
func watcherName(r *result) string {
	name := r.vars["watcher"]
	if r.vars["stacks"] == "true" {
		name += ", stacks"
	}
	if r.vars["driver"] == "real" {
		name += ", the real driver"
	}
	return name
}

// rateName is how tables name a rate of calls.
func rateName(events string) string {
	if events == "max" {
		return "no pause"
	}
	return events + "/s"
}

// watchedTables makes the tables of the part memwatch.
func watchedTables(f *rawFile, add addTable) {
	all := f.only("Watched")
	for _, c := range []struct{ title, unit string }{
		{"Time of a program that is watched, times that of one that is not, by its calls a second", "x-of-bare"},
		{"The same for its processor time, which other programs on the machine disturb less", "x-of-bare-cpu"},
	} {
		t := &table{head: []string{"watched by"}}
		rates := values(all, "events")
		for _, rate := range rates {
			t.head = append(t.head, rateName(rate))
		}
		for _, r := range all {
			if r.vars["events"] != rates[0] {
				continue
			}
			row := []string{watcherName(r)}
			for _, rate := range rates {
				for _, o := range all {
					if o.vars["events"] == rate && watcherName(o) == watcherName(r) {
						row = append(row, o.cell(c.unit, digits))
					}
				}
			}
			t.rows = append(t.rows, row)
		}
		add(c.title, t)
	}
	t := &table{head: []string{"watched by", "added to a call", "of processor time", "the watcher's own, a call", "added to a bystander's call"}}
	for _, r := range f.only("Watched", "events=max") {
		other := ""
		for _, o := range f.only("Bystander") {
			if watcherName(o) == watcherName(r) {
				other = o.between("added-ns/call", duration)
			}
		}
		t.rows = append(t.rows, []string{watcherName(r), r.cell("added-ns/call", duration), r.cell("added-cpu-ns/call", duration), r.cell("watcher-cpu-ns/call", duration), other})
	}
	add("Without a pause: what one call takes more. A bystander is another process with the same driver's file", t)
	t = &table{head: []string{"watched by", "a Make with its Free"}}
	for _, r := range f.only("WatchedPool") {
		name := map[string]string{"none": "nobody", "table": "memwatch, ten times a second through the table", "markers": "memwatch -count, through the markers"}[r.vars["watched"]]
		t.rows = append(t.rows, []string{name, r.cell("ns/op", duration)})
	}
	add("A program that uses lastuse", t)
}

// watchedPlots draws how much slower a program is that is watched, by its calls a second.
func watchedPlots(f *rawFile) ([][]*plot.Plot, error) {
	var all []line
	var seen []string
	for _, r := range f.only("Watched", "driver=empty") {
		name := watcherName(r)
		if slices.Contains(seen, name) {
			continue
		}
		seen = append(seen, name)
		var same []*result
		for _, o := range f.only("Watched", "driver=empty") {
			if watcherName(o) == name && o.vars["events"] != "max" {
				same = append(same, o)
			}
		}
		watched := through(name, same, "events", "x-of-bare-cpu", plain)
		watched.dashed = r.vars["stacks"] == "false"
		all = append(all, watched)
	}
	p, err := lines("A program that is watched, by the calls that it makes when nobody watches", axis{label: "calls a second", log: true, show: whole, by: 10},
		axis{label: "processor time, times that unwatched", show: digits}, all)
	if err != nil {
		return nil, err
	}
	p.Y.Min = 0.8 // a little below 1, which is no cost
	return one(p), nil
}
