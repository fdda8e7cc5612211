package trace

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
)

// Open reads a trace from a file: of our own form, of RMM's, or a memory snapshot of PyTorch's, of which it takes the
// first device. It may be compressed with gzip.
func Open(name string) (*Trace, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	defer f.Close()
	t, err := readAny(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return t, nil
}

// readAny tells forms apart by how they begin.
func readAny(r io.Reader) (*Trace, error) {
	in := bufio.NewReader(r)
	begin, _ := in.Peek(len(head)) // what reads the whole will meet the error
	switch {
	case bytes.HasPrefix(begin, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("trace: %w", err)
		}
		return readAny(z)
	case string(begin) == head:
		return Read(in)
	case bytes.HasPrefix(begin, []byte{0x80}):
		return ReadTorch(in, 0)
	}
	return ReadRMM(in)
}
