//go:build !lockrank

package lockrank

import "sync"

// On says whether ranks are checked.
const On = false

// A Mutex is a mutex of rank R.
type Mutex[R Rank] struct{ sync.Mutex }

// An RWMutex is one that readers share.
type RWMutex[R Rank] struct{ sync.RWMutex }
