// Package device asks the NVIDIA driver what its devices hold: how much memory there is, how much is used, by
// whom, and how busy they are.
//
// # Way in
//
// [Open] opens NVML, the driver's library of such figures, at run time. It is a library of C: a program that
// was built without cgo asks nvidia-smi instead, which says the same and takes longer.
//
// # Way out
//
// [Source.Read] may take as long as the driver likes. It is not called by a goroutine that must not wait.
package device

import (
	"context"
	"errors"
	"fmt"
)

// A Device is one GPU as the driver sees it.
type Device struct {
	Index int    // of NVML and nvidia-smi; programs may number theirs otherwise
	Name  string // as the driver says
	Total uint64 // bytes
	Used  uint64 // bytes, of all processes and the driver's own
	Busy  int    // percent of the latest sample during which a kernel ran; -1: not known

	Processes map[uint32]uint64 // bytes that the driver counts for each; nil: not known
}

// A Source tells of the devices. It is not safe for use by several goroutines.
type Source interface {
	// Name says in a few words who is asked.
	Name() string
	// Read returns all devices, by their index.
	Read(ctx context.Context) ([]Device, error)
	// Child returns the number of the process that is being asked, 0 if there is none. It may be called
	// by any goroutine.
	Child() int
	Close()
}

// ErrNone is in the chain of errors about a machine that has no driver to be asked.
var ErrNone = errors.New("no NVIDIA driver to ask")

// Open returns the best Source there is. The caller closes it.
func Open() (Source, error) {
	n, err := openNVML("libnvidia-ml.so.1")
	if err == nil {
		return n, nil
	}
	if t, ok := openTool(); ok {
		return t, nil
	}
	return nil, fmt.Errorf("device: %w: %w", ErrNone, err)
}

// Bounds on what is believed of a library or tool.
const (
	maxDevices   = 64
	maxProcesses = 4096 // of one device
	maxName      = 96   // bytes
)
