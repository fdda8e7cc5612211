package main

import (
	"time"

	"gonum.org/v1/plot"
)

// How tables and plots name devices, and pools that are new or have run the same before.
var (
	deviceNames = map[string]string{"host": "The host device", "cuda": "The CUDA device"}
	warmth      = map[string]string{"false": "cold", "true": "warm"}
)

// runMultiStreams runs RMM's workload on the host device, and on the CUDA device if there is one.
func runMultiStreams(r *raw) error {
	if err := r.test("bench.test", "", "^BenchmarkMultiStreams$", r.time(100*time.Millisecond), r.count()); err != nil {
		return err
	}
	r.cuda("^BenchmarkMultiStreams$", r.time(100*time.Millisecond), r.count())
	return nil
}

// multiStreamsTables makes a table of each device and time.
func multiStreamsTables(f *rawFile, add addTable) {
	for _, device := range values(f.only("MultiStreams"), "device") {
		on := f.only("MultiStreams", "device="+device)
		for _, c := range []struct {
			title, unit string
			by          float64
		}{{"time of the four kernels", "ns/op", 1}, {"of it to enqueue them, with what is made and freed", "enqueue-µs", 1e3}} {
			t := &table{head: append([]string{"streams", "pool"}, values(on, "pool")...)}
			for _, streams := range values(on, "streams") {
				for _, warm := range values(on, "prewarm") {
					row := []string{streams, warmth[warm]}
					for _, pool := range t.head[2:] {
						cell := ""
						for _, r := range f.only("MultiStreams", "device="+device, "streams="+streams, "prewarm="+warm, "pool="+pool) {
							cell = r.cell(c.unit, func(x float64) string { return duration(x * c.by) })
						}
						row = append(row, cell)
					}
					t.rows = append(t.rows, row)
				}
			}
			add(deviceNames[device]+": "+c.title, t)
		}
	}
}

// multiStreamsPlots draws, for each device below each other, the time of the kernels on cold pools and on warm ones beside it.
func multiStreamsPlots(f *rawFile) ([][]*plot.Plot, error) {
	var grid [][]*plot.Plot
	for _, device := range values(f.only("MultiStreams"), "device") {
		var row []*plot.Plot
		most := 0.0
		for _, warm := range []string{"false", "true"} {
			var all []line
			for _, pool := range values(f.only("MultiStreams"), "pool") { // of all devices, so that each pool has one colour
				l := through(pool, f.only("MultiStreams", "device="+device, "prewarm="+warm, "pool="+pool), "streams", "ns/op", plain)
				l.dashed = pool == "none" // lastuse lies under it
				all = append(all, l)
			}
			p, err := lines(deviceNames[device]+", "+warmth[warm], axis{label: "streams", log: true, show: whole, by: 2},
				axis{label: "time of the four kernels", show: duration}, all)
			if err != nil {
				return nil, err
			}
			p.Legend.Left = false // times fall to the right
			most = max(most, p.Y.Max*1.15)
			row = append(row, p)
		}
		for _, p := range row {
			p.Y.Max = most
		}
		grid = append(grid, row)
	}
	if len(grid) == 0 {
		return nil, errEmpty
	}
	return grid, nil
}
