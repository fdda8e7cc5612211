package main

import (
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

func TestHost(t *testing.T) {
	for _, n := range []int{1, 1000} {
		var out strings.Builder
		require.NoError(t, run(&out, n, 0, true, nil))
		assert.Contains(t, out.String(), " numbers of each of 2 devices added up by a Go function: right, ")
	}
	var out strings.Builder
	require.NoError(t, run(&out, 10, 100, false, nil))
	assert.Contains(t, out.String(), "not on GPUs: ")
}

// An adder that is wrong or fails is named, and nothing stays live: closing the pools says so.
func TestWrong(t *testing.T) {
	dev, err := host.Open(host.Options{})
	require.NoError(t, err)
	devs := []alloc.Device{alloctest.Ordered(t, dev), alloctest.Ordered(t, dev)}
	report := func(add adder) error {
		return withRanks(devs, func(ranks []rank) error { return report(&strings.Builder{}, ranks, 5, "it", add) })
	}
	require.NoError(t, report(onHostMemory))
	require.EqualError(t, report(func(parts []part) error { return parts[1].total.Fill(parts[1].s, 0) }),
		"it: device 0 has a total that is not the sum")
	require.EqualError(t, report(func([]part) error { return alloc.ErrClosed }), "it: closed")
}

// The sum by NCCL itself, under the order checker, where there are GPUs.
func TestGPU(t *testing.T) {
	all, err := cuda.Devices()
	if err != nil {
		t.Skip("not on a GPU: ", err)
	}
	var devs []alloc.Device
	for i := range all {
		gpu, err := cuda.Open(i)
		require.NoError(t, err)
		defer gpu.Close()
		devs = append(devs, alloctest.Ordered(t, gpu))
	}
	err = withRanks(devs, func(ranks []rank) error {
		for i := range ranks {
			ranks[i].gpu, err = cuda.Open(i)
			require.NoError(t, err)
			defer ranks[i].gpu.Close()
		}
		lib, err := openLibrary(ranks, libraries)
		if err != nil {
			t.Skip("not with NCCL: ", err)
		}
		defer lib.close()
		var out strings.Builder
		defer func() { t.Log(out.String()) }()
		return report(&out, ranks, 1<<20, "NCCL "+lib.version(), lib.sum)
	})
	require.NoError(t, err)
	if len(all) < 2 {
		t.Skip("one GPU only: a sum of one was right, a sum over GPUs wants two")
	}
}
