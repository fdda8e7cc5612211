//go:build !unix

package early

import "time"

// processorTime returns 0: the system does not say.
func processorTime() time.Duration { return 0 }
