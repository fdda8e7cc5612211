//go:build !linux || !(amd64 || arm64)

package main

import (
	"context"
	"errors"
)

var errPlatform = errors.New("the driver's calls can be watched on Linux, on amd64 and arm64; replay and demo work anywhere")

func (c *watching) watch(context.Context) (int, error) { return exitError, errPlatform }

func (c *watching) checkSystem() (int, error) { return exitError, errPlatform }
