//go:build !cgo || !linux

package drvtest

import "testing"

// A StandIn is the side door of one stand-in driver; without cgo it cannot be opened.
type StandIn struct{}

// Load skips the test.
func Load(tb testing.TB, path string) *StandIn {
	tb.Helper()
	tb.Skip("the stand-in driver needs cgo")
	return nil
}

// Set does nothing: there is none to set.
func (s *StandIn) Set(tb testing.TB, setting string, value int64) {}
