//go:build !linux

package main

import (
	"context"
	"errors"
	"time"

	"github.com/lastuse/lastuse/internal/probe"
)

var errSystem = errors.New("memwatch needs Linux: tables are found through /proc")

func isRoot() bool { return false }

func usesDriver(int) string { return "" }

func (c *config) useDriver() bool { return false }

func pids() ([]int, error) { return nil, errSystem }

func inspect(context.Context, int) (*processRow, error) { return nil, errSystem }

func countMarkers(context.Context, int, []*probe.Snapshot, time.Duration, func()) (*markerRow, error) {
	return nil, errSystem
}
