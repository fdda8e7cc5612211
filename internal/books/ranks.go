package books

import "github.com/lastuse/lastuse/internal/lockrank"

// The package's mutexes are taken under the locks of shards and under those of who owns them, and none under
// another of them.
type (
	rankBooks   struct{}
	rankSites   struct{}
	rankHistory struct{}
)

func (rankBooks) Rank() int   { return lockrank.Books }
func (rankSites) Rank() int   { return lockrank.Books }
func (rankHistory) Rank() int { return lockrank.Books }
