//go:build !amd64 || race

package tracker

import "sync/atomic"

// store makes v visible to concurrent readers of *p, after all earlier stores.
func store(p *uint64, v uint64) { atomic.StoreUint64(p, v) }
