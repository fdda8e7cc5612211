//go:build !unix

package apply

import (
	"io/fs"
	"os"
)

// lockFile does nothing: comparing the file before it is replaced has to do.
func lockFile(*os.File) error { return nil }

// keepOwner does nothing: there are no owners to keep.
func keepOwner(*os.File, fs.FileInfo) error { return nil }
