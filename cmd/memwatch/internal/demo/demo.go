// Package demo holds a recorded session, so that the views can be looked at without
// rights and without a GPU.
//
// The session is two minutes of three programs that were made up: a trainer whose
// cache leaks, a server that works within its limits and is killed at the end, and a Go
// program of the lastuse runtime that leaves some frees to the collector. It is an
// ordinary record file, made by the tests with -update; memwatch replay reads it too.
package demo

import (
	"bytes"
	_ "embed"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/record"
)

//go:embed session.mwr
var session []byte

// Open returns a Reader at the session's first event.
func Open() (*record.Reader, error) {
	return record.NewReader(bytes.NewReader(session))
}

// Session returns the bytes of the record file.
func Session() []byte { return bytes.Clone(session) }
