package main

import "path/filepath"

// wideMark ends the name of a peer that may use all processors, among those that are asked.
const wideMark = "/wide"

// peers returns all peers. bin is the folder of those that are built, scripts that of the others, self this
// program, ours the name of its pools on the device.
func peers(bin, scripts, self, ours string) (all []*peer) {
	add := func(name string, args ...string) {
		all = append(all, &peer{name: name, args: args, late: args[0] == "python3"})
	}
	for _, kind := range []string{"", "-nosites", "-tight", "-fast"} {
		add(ours+kind, self, "-serve", ours+kind)
	}
	for _, kind := range []string{"pool", "preset", "arena", "async", "async-grown"} {
		add("rmm-"+kind, filepath.Join(bin, "rmm_peer"), kind)
	}
	for _, kind := range []string{"native", "expandable", "async"} {
		add("torch-"+kind, "python3", filepath.Join(scripts, "torch_peer.py"), kind)
	}
	add("cupy-memory", "python3", filepath.Join(scripts, "cupy_peer.py"))
	for _, kind := range []string{"async", "plain", "vmm"} {
		add("driver-"+kind, filepath.Join(bin, "driver_peer"), kind)
	}
	for _, p := range all {
		switch p.name {
		case ours, "torch-native", "driver-plain":
			all = append(all, &peer{name: p.name + wideMark, args: p.args, wide: true})
		}
	}
	return all
}
