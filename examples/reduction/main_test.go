package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/alloctest"
	"github.com/lastuse/lastuse/alloc/cuda"
	"github.com/lastuse/lastuse/alloc/host"
	"github.com/lastuse/lastuse/internal/cudadrv/drvtest"
)

func TestMain(m *testing.M) { drvtest.Main(m, main) }

func hostDevice(t *testing.T) alloc.Device {
	dev, err := host.Open(host.Options{})
	require.NoError(t, err)
	return dev
}

// hosted adds up on a device of the host's.
func hosted(dev alloc.Device, k kernels, n, batches int) (string, error) {
	var out strings.Builder
	err := on(&out, dev, func(*alloc.Pool) (kernels, error) { return k, nil }, n, batches)
	return out.String(), err
}

func TestRun(t *testing.T) {
	for _, n := range []int{pieces, 1000, 100_003} {
		for _, batches := range []int{1, 2, 7} {
			var out strings.Builder
			require.NoError(t, run(&out, n, batches, true, ""))
			assert.Contains(t, out.String(), "device: host\n")
			assert.Contains(t, out.String(), " numbers: right, ")
		}
	}
	for _, n := range []int{-1, 0, pieces - 1} {
		require.EqualError(t, run(&strings.Builder{}, n, 1, true, ""), fmt.Sprintf("1 batches of %d numbers: want at least 1 of 2", n))
	}
}

// The order checker has nothing to say.
func TestOrder(t *testing.T) {
	_, err := hosted(alloctest.Ordered(t, hostDevice(t)), onHost, 1000, 5)
	require.NoError(t, err)
}

// Kernels that are wrong or fail are found, and nothing stays live: closing the pool says so.
func TestWrong(t *testing.T) {
	wrong := onHost
	wrong.finish = func(s *alloc.Stream, sum, parts alloc.Buffer[float64]) error { return sum.Fill(s, 3) }
	_, err := hosted(hostDevice(t), wrong, 10, 3)
	require.EqualError(t, err, "batch 0: the sum is 3, want 24")
	wrong.finish = func(s *alloc.Stream, sum, parts alloc.Buffer[float64]) error { return errors.ErrUnsupported }
	_, err = hosted(hostDevice(t), wrong, 10, 3)
	require.ErrorIs(t, err, errors.ErrUnsupported)
	assert.NotErrorIs(t, err, alloc.ErrLive)
}

// Whichever call of the device fails, nothing stays live.
func TestFailures(t *testing.T) {
	failed := 0
	for n := int64(1); ; n++ {
		dev := alloctest.NewFaulty(hostDevice(t))
		dev.FailNth(n)
		_, err := hosted(dev, onHost, 10, 3)
		if err == nil && dev.Calls() < n {
			break
		}
		if err != nil {
			failed++
		}
		assert.NotErrorIs(t, err, alloc.ErrLive, "call %d", n)
	}
	require.Greater(t, failed, 20)
}

// The same on a GPU; the order checker has nothing to say.
func TestGPU(t *testing.T) {
	gpu, err := cuda.Open(0)
	if err != nil {
		t.Skip("not on a GPU: ", err)
	}
	defer gpu.Close()
	var out strings.Builder
	err = on(&out, alloctest.Ordered(t, gpu), func(p *alloc.Pool) (kernels, error) { return compiled(p, "") }, 1<<24, 20)
	if errors.Is(err, cuda.ErrUnavailable) {
		t.Skip("not on a GPU with NVRTC: ", err)
	}
	require.NoError(t, err)
	t.Log(out.String())
}
