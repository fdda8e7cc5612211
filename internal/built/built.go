// Package built gives tests the commands of this module, linked once for all of them.
package built

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"strings"
)

const module = "github.com/lastuse/lastuse/"

// Command returns the path of a command of this module, such as cmd/lastuse. It lies in go's build cache,
// which keeps what go run has linked until its sources change: nobody may write to it, and it stays.
func Command(name string) (string, error) {
	// What runs the command is -exec's program, which says where the command is. When it was linked for this
	// run, that is a folder that goes away; the next run finds it in the cache.
	for range 2 {
		out, err := exec.Command("go", "run", "-exec=echo", path.Join(module, name)).Output()
		if err != nil {
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				err = fmt.Errorf("%w: %s", err, exit.Stderr)
			}
			return "", fmt.Errorf("build %s: %w", name, err)
		}
		exe := strings.TrimSpace(string(out))
		if _, err := os.Stat(exe); err == nil {
			return exe, nil
		}
	}
	return "", fmt.Errorf("build %s: go's build cache does not keep it", name)
}
