//go:build !linux || !(amd64 || arm64)

package main

import (
	"context"
	"errors"
	"os"
)

var errPlatform = errors.New("the driver's calls can be watched on Linux, on amd64 and arm64; replay and demo work anywhere")

func (c *config) watch(context.Context) (int, error) { return exitError, errPlatform }

func (c *config) checkSystem() (int, error) { return exitError, errPlatform }

// There are no rights to keep where nothing can be watched.
const helperName = "(helper)"

func serveHelper([]string) int { return exitError }

// isTerminal reports whether f is a terminal, or something like one.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
