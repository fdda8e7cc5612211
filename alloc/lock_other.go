//go:build !amd64 || race

package alloc

import (
	"sync"
	"sync/atomic"
)

// A lock guards a heap. See lock_amd64.go.
type lock = sync.Mutex

// store makes v visible to concurrent readers of *p.
func store(p *uint64, v uint64) { atomic.StoreUint64(p, v) }
