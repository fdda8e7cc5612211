//go:build !linux || !cgo

package device

import "errors"

func openNVML(string) (Source, error) {
	return nil, errors.New("NVML: a library of C, and this program was built without cgo")
}
