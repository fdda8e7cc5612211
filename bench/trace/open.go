package trace

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
)

// Open reads a trace from a file, which may be compressed with gzip.
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

// readAny unpacks what is compressed.
func readAny(r io.Reader) (*Trace, error) {
	in := bufio.NewReader(r)
	begin, _ := in.Peek(2) // what reads the whole will meet the error
	if !bytes.Equal(begin, []byte{0x1f, 0x8b}) {
		return Read(in)
	}
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	return Read(z)
}
