package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// build builds what the parts run into dir. Peers that cannot be built here are left out: their parts
// say so.
func (b *bench) build(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	overlay, err := os.MkdirTemp("", "lastuse-bare-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(overlay)
	list, err := writeOverlay(b.root, overlay)
	if err != nil {
		return err
	}
	strip := "-ldflags=-s -w"
	for _, c := range [][]string{
		{"test", "-c", strip, "-o", "bench.test", "./bench"},
		{"test", "-c", strip, "-overlay", list, "-o", "bare.test", "./bench"},
		{"test", "-c", strip, "-o", "early.test", "./bench/early"},
		{"test", "-c", strip, "-o", "tracker.test", "./tracker"},
		{"build", strip, "-o", "replay", "./bench/replay"},
		{"build", strip, "-o", "lastuse", "./cmd/lastuse"},
		{"build", strip, "-o", "nilness", "./bench/peers/nilness"},
		{"build", strip, "-o", "memwatch", "./cmd/memwatch"},
		{"build", strip, "-o", "pairs", "./cmd/memwatch/testdata/pairs"},
	} {
		for i, a := range c {
			if a == "-o" {
				c[i+1] = filepath.Join(dir, c[i+1])
			}
		}
		cmd := exec.CommandContext(b.ctx, "go", c...)
		cmd.Dir = b.root
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("go %v: %w", c, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, commitFile), []byte(b.checkedOut()), 0o666); err != nil {
		return err
	}
	// What may be missing.
	cuda := exec.CommandContext(b.ctx, "go", "test", "-c", strip, "-o", filepath.Join(dir, "cuda.test"), "./alloc/cuda")
	cuda.Dir = b.root
	_ = cuda.Run()
	arrow := exec.CommandContext(b.ctx, "go", "build", strip, "-o", filepath.Join(dir, "arrow"), ".")
	arrow.Dir = filepath.Join(b.root, "bench", "peers", "arrow")
	_ = arrow.Run()
	for _, name := range []string{"host_pair", "driver_pair", "driver_replay"} {
		_ = exec.CommandContext(b.ctx, "cc", "-O2", "-o", filepath.Join(dir, name), filepath.Join(b.root, "bench", "peers", name+".c"), "-ldl").Run()
	}
	probe := filepath.Join(dir, "probe") // a library of the driver's name is kept apart
	if err := os.MkdirAll(probe, 0o777); err != nil {
		return err
	}
	peers := filepath.Join(b.root, "bench", "peers")
	for _, name := range []string{"libcuda.so.1", "unwatched.so"} {
		_ = exec.CommandContext(b.ctx, "cc", "-O2", "-fno-builtin", "-fno-omit-frame-pointer", "-shared", "-fPIC", "-Wl,-soname,"+name,
			"-o", filepath.Join(probe, name), filepath.Join(peers, "probe_driver.c")).Run()
	}
	_ = exec.CommandContext(b.ctx, "cc", "-O2", "-fno-omit-frame-pointer", "-o", filepath.Join(probe, "probe_target"), filepath.Join(peers, "probe_target.c"), "-ldl").Run()
	return nil
}
