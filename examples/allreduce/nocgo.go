//go:build !cgo || !linux

package main

import "errors"

// A library is NCCL, which cannot be opened without cgo.
type library struct{}

var errNoCgo = errors.New("this program was built without cgo, or not for linux: set CGO_ENABLED=1")

func openLibrary([]rank, []string) (*library, error) { return nil, errNoCgo }

func (*library) close() {}

func (*library) version() string { return "" }

func (*library) sum([]part) error { return errNoCgo }
