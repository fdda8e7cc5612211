package main

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot/plotter"
)

func TestFitPower(t *testing.T) {
	var exact, noisy plotter.XYs
	for i, x := range []float64{1, 2, 4, 8, 16, 32} {
		y := 3 * math.Pow(x, 1.5)
		exact = append(exact, plotter.XY{X: x, Y: y})
		noisy = append(noisy, plotter.XY{X: x, Y: y * []float64{1.1, 0.9}[i%2]})
	}
	f, ok := fitPower(exact)
	require.True(t, ok)
	require.InDelta(t, 1.5, f.exponent, 1e-12)
	require.InDelta(t, 3, f.factor, 1e-9)
	require.InDelta(t, 0, f.spread, 1e-6)

	f, ok = fitPower(noisy)
	require.True(t, ok)
	require.Greater(t, f.spread, 0.01)
	require.InDelta(t, 1.5, f.exponent, f.spread, "the interval holds the truth")

	for name, xy := range map[string]plotter.XYs{
		"two points": exact[:2], "one size": {{X: 5, Y: 1}, {X: 5, Y: 2}, {X: 5, Y: 3}}, "a time below zero": {{X: 1, Y: -1}, {X: 2, Y: 1}, {X: 3, Y: 1}}, "none": nil,
	} {
		_, ok := fitPower(xy)
		require.False(t, ok, name)
	}
}
