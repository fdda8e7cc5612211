//go:build linux

package device

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// library builds the stand-in, or skips the test.
func library(t *testing.T, flags ...string) string {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler")
	}
	path := filepath.Join(t.TempDir(), "libnvidia-ml.so.1")
	out, err := exec.Command(cc, append(flags, "-shared", "-fPIC", "-o", path, "testdata/nvml.c")...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

func TestNVML(t *testing.T) {
	if _, err := openNVML("/nonexistent"); err != nil {
		require.ErrorContains(t, err, "NVML: ")
	}
	s, err := openNVML(library(t))
	if err != nil && !cgo {
		t.Skip("without cgo: ", err)
	}
	require.NoError(t, err)
	defer s.Close()
	for range 3 {
		all, err := s.Read(t.Context())
		require.NoError(t, err)
		require.Equal(t, []Device{
			{Index: 0, Name: "First", Total: 8 << 30, Used: 3 << 30, Busy: 87, Processes: map[uint32]uint64{4711: 3 << 20}},
			{Index: 1, Name: "Second\x1b[2J", Total: 8 << 30, Used: 3 << 30, Busy: -1},
		}, all)
	}
	bare, err := openNVML(library(t, "-DBARE"))
	require.NoError(t, err)
	defer bare.Close()
	all, err := bare.Read(t.Context())
	require.NoError(t, err)
	require.Equal(t, []int{-1, -1}, []int{all[0].Busy, all[1].Busy})
	require.Nil(t, all[0].Processes)
	_, err = openNVML(library(t, "-DFAILS"))
	require.EqualError(t, err, "NVML: Driver Not Loaded")
	wrong := filepath.Join(t.TempDir(), "lib.so")
	require.NoError(t, os.WriteFile(wrong, []byte("no library"), 0o600))
	_, err = openNVML(wrong)
	require.Error(t, err)
}

func TestParseTool(t *testing.T) {
	all := parseTool("0, GPU-a, 81559, 1024, 87, A GPU, with a comma\n1, GPU-b, 100, 5, [N/A], Second\nx, GPU-c, 1, 1, 1, y\n2, GPU-d, -1, 1, 1, z\n\n",
		"GPU-a, 4711, 522\nGPU-a, 7, 3\nGPU-a, 4711, 1\nGPU-b, 7, 9\nGPU-a, 12, [N/A]\nGPU-a, -1, 5\nGPU-x, 1, 5\nNo running processes found\n\n, \n")
	require.Equal(t, []Device{
		{Index: 0, Name: "A GPU, with a comma", Total: 81559 << 20, Used: 1 << 30, Busy: 87, Processes: map[uint32]uint64{4711: 523 << 20, 7: 3 << 20}},
		{Index: 1, Name: "Second", Total: 100 << 20, Used: 5 << 20, Busy: -1, Processes: map[uint32]uint64{7: 9 << 20}},
	}, all)
}

// TestToolMisbehaves asks tools that fail, say too much, or never answer.
func TestToolMisbehaves(t *testing.T) {
	dir := t.TempDir()
	ask := func(script string) ([]Device, error) {
		path := filepath.Join(dir, "tool")
		require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700))
		return (&tool{path: path}).Read(t.Context())
	}
	_, err := ask("exit 9")
	require.ErrorContains(t, err, "nvidia-smi")
	all, err := ask("echo 0, GPU-a, 1, 1, 1, x; yes | head -c 5000000; echo 1, GPU-b, 1, 1, 1, y")
	require.NoError(t, err)
	require.Len(t, all, 1)
	begin := time.Now()
	_, err = ask("exec sleep 100")
	require.Error(t, err)
	require.Less(t, time.Since(begin), toolAnswer+30*time.Second, "it was not waited for")
	at, path := filepath.Join(dir, "number"), filepath.Join(dir, "tool")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\necho $$ > "+at+".new; mv "+at+".new "+at+"; exec sleep 100\n"), 0o700))
	ctx, stop := context.WithCancel(t.Context())
	slow, ended := &tool{path: path}, make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = slow.Read(ctx)
	}()
	require.Eventually(t, func() bool {
		number, err := os.ReadFile(at)
		return err == nil && fmt.Sprint(slow.Child(), "\n") == string(number)
	}, time.Minute, time.Millisecond, "who is asked is known")
	stop()
	<-ended
	require.Zero(t, slow.Child())
	_, err = (&tool{path: filepath.Join(dir, "nothing")}).Read(t.Context())
	require.Error(t, err)
}
