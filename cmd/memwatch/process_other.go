//go:build !linux

package main

import (
	"context"
	"errors"
	"time"

	"github.com/lastuse/lastuse/internal/probe"
)

var (
	errGone    = errors.New("no such process")
	errNoTable = errors.New("it has no table")
	errRights  = errors.New("not permitted")
	errSystem  = errors.New("memwatch needs Linux: tables are found through /proc")
)

func pids() ([]int, error) { return nil, errSystem }

func inspect(context.Context, int) (*processRow, error) { return nil, errSystem }

func countMarkers(context.Context, int, []*probe.Snapshot, time.Duration) (*markerRow, error) {
	return nil, errSystem
}
