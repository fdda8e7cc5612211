//go:build !amd64 || race

package alloc

import "sync"

// A lock guards a heap. See lock_amd64.go.
type lock = sync.Mutex
