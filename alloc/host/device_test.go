package host_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/alloctest"
	"github.com/lastuse/lastuse/alloc/host"
	"github.com/lastuse/lastuse/internal/gomemory"
	"github.com/lastuse/lastuse/internal/lockrank"
)

func TestConformance(t *testing.T) {
	for _, o := range []host.Options{
		{},
		{NoMapping: true},
		{Capacity: 96 << 20, Granularity: 64 << 10},
	} {
		t.Run(fmt.Sprintf("%+v", o), func(t *testing.T) {
			alloctest.TestDevice(t, func(tb testing.TB) alloc.Device {
				d, err := host.Open(o)
				require.NoError(tb, err)
				tb.Cleanup(func() { assert.Zero(tb, d.Used()) })
				return d
			})
		})
	}
}

func TestFaultyConformsWhileItDoesNotFail(t *testing.T) {
	alloctest.TestDevice(t, func(tb testing.TB) alloc.Device {
		d, err := host.Open(host.Options{})
		require.NoError(tb, err)
		return alloctest.NewFaulty(d)
	})
}

func TestOpen(t *testing.T) {
	for _, o := range []host.Options{{Capacity: -1}, {Granularity: 3 << 20}, {Granularity: 1024},
		{Granularity: -1}} {
		_, err := host.Open(o)
		require.ErrorIs(t, err, alloc.ErrSize, "%+v", o)
	}
}

func TestCapacity(t *testing.T) {
	d, err := host.Open(host.Options{Capacity: 8 << 20})
	require.NoError(t, err)
	p, err := d.Alloc(6 << 20)
	require.NoError(t, err)
	free, total, err := d.MemInfo()
	require.NoError(t, err)
	assert.EqualValues(t, 2<<20, free)
	assert.EqualValues(t, 8<<20, total)
	_, err = d.Alloc(3 << 20)
	require.ErrorIs(t, err, alloc.ErrOutOfMemory)
	_, err = d.AllocHost(3 << 20)
	require.ErrorIs(t, err, alloc.ErrOutOfMemory)
	q, err := d.Reserve(64 << 20)
	require.NoError(t, err)
	require.NoError(t, d.Map(q, 2<<20))
	require.ErrorIs(t, d.Map(q+2<<20, 2<<20), alloc.ErrOutOfMemory)
	require.NoError(t, d.Unmap(q, 2<<20))
	require.NoError(t, d.Unreserve(q, 64<<20))
	require.NoError(t, d.Free(p, 6<<20))
	assert.Zero(t, d.Used())
}

func TestLaunch(t *testing.T) {
	d, err := host.Open(host.Options{})
	require.NoError(t, err)
	p, err := alloc.NewPool(d, alloc.Options{})
	require.NoError(t, err)
	s, err := p.NewStream()
	require.NoError(t, err)
	x, err := alloc.Make[float64](s, 100)
	require.NoError(t, err)
	y, err := alloc.Make[float64](s, 100)
	require.NoError(t, err)
	require.NoError(t, x.Fill(s, 2))
	require.NoError(t, y.Fill(s, 1))
	release, err := d.Hold(s.Handle())
	require.NoError(t, err)
	axpy := func(a host.Args) {
		k := host.Value[float64](a, 0)
		x, y := host.Slice[float64](a, 1), host.Slice[float64](a, 2)
		for i := range y {
			y[i] += k * x[i]
		}
	}
	require.NoError(t, host.Launch(s, axpy, alloc.Scalar(3.0), x.View(0, 50).Arg(), y.View(50, 100).Arg()))
	x.Free() // legal: the launch is enqueued
	z, err := alloc.Make[float64](s, 100)
	require.NoError(t, err)
	require.NoError(t, z.Fill(s, 0))
	release()
	got := make([]float64, 100)
	require.NoError(t, y.CopyTo(s, got))
	assert.Equal(t, 1.0, got[0])
	assert.Equal(t, 7.0, got[50])
	assert.Equal(t, 7.0, got[99])

	wrong := make(chan any, 4)
	try := func(f func()) {
		defer func() { wrong <- recover() }()
		f()
	}
	require.NoError(t, host.Launch(s, func(a host.Args) {
		try(func() { host.Slice[float32](a, 0) })
		try(func() { host.Slice[float64](a, 1) })
		try(func() { host.Value[float64](a, 0) })
		try(func() { host.Value[int](a, 2) })
	}, y.Arg(), alloc.Scalar([4]int64{1, 2, 3, 4})))
	require.NoError(t, s.Sync())
	for range 4 {
		assert.NotNil(t, <-wrong)
	}
	require.NoError(t, host.Launch(s, func(a host.Args) {
		assert.Equal(t, [4]int64{1, 2, 3, 4}, host.Value[[4]int64](a, 0))
		assert.Equal(t, 2, a.Len())
		assert.Empty(t, host.Slice[int8](a, 1))
	}, alloc.Scalar([4]int64{1, 2, 3, 4}), alloc.Buffer[int8]{}.Arg()))
	y.Free()
	z.Free()
	require.NoError(t, p.Close())
	assert.Zero(t, d.Used())
}

// A launch allocates nothing once warm.
func TestLaunchAllocates(t *testing.T) {
	d, err := host.Open(host.Options{})
	require.NoError(t, err)
	p, err := alloc.NewPool(d, alloc.Options{})
	require.NoError(t, err)
	s := p.DefaultStream()
	b, err := alloc.Make[int32](s, 100)
	require.NoError(t, err)
	f := func(a host.Args) { host.Slice[int32](a, 0)[0] = host.Value[int32](a, 1) }
	launch := func() {
		if err := host.Launch(s, f, b.Arg(), alloc.Scalar[int32](3)); err != nil {
			t.Error(err)
		}
		if err := s.Sync(); err != nil {
			t.Error(err)
		}
	}
	for range 100 {
		launch()
	}
	if lockrank.On {
		assert.Empty(t, gomemory.Stacks(200, launch, "github.com/lastuse/lastuse/internal/lockrank"))
	} else {
		assert.Zero(t, testing.AllocsPerRun(200, launch))
	}
	b.Free()
	require.NoError(t, p.Close())
}
