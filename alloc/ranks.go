package alloc

import "github.com/lastuse/lastuse/internal/lockrank"

// The order of the package's mutexes: one is taken only under those of lower ranks. The package comment says
// what each guards; tests that are built with the tag lockrank check it.
type (
	rankMoving   struct{}
	rankCore     struct{}
	rankGraph    struct{}
	rankMemory   struct{}
	rankNaming   struct{}
	rankWriting  struct{}
	rankHeap     struct{}
	rankTimeline struct{}
	rankArena    struct{}
	rankGranules struct{}
	rankAfter    struct{}
	rankChecker  struct{}
	rankTrace    struct{}
	rankOwners   struct{}
	rankEstate   struct{}
)

func (rankMoving) Rank() int   { return -1 }
func (rankCore) Rank() int     { return lockrank.Several }
func (rankGraph) Rank() int    { return 1 }
func (rankNaming) Rank() int   { return 2 }
func (rankMemory) Rank() int   { return 3 }
func (rankWriting) Rank() int  { return 4 }
func (rankHeap) Rank() int     { return 5 } // page-locked memory's too
func (rankTimeline) Rank() int { return 6 }
func (rankArena) Rank() int    { return 7 }
func (rankGranules) Rank() int { return 8 }
func (rankAfter) Rank() int    { return 9 }
func (rankChecker) Rank() int  { return 10 }
func (rankTrace) Rank() int    { return 11 }
func (rankOwners) Rank() int   { return 12 }
func (rankEstate) Rank() int   { return 13 }
