package symbols

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHonest reads headers that say of more folders or files than they have.
func TestHonest(t *testing.T) {
	table := func(version uint16, folders, files []byte) []byte {
		b := binary.LittleEndian.AppendUint32(nil, 100)
		b = binary.LittleEndian.AppendUint16(b, version)
		b = append(b, 8, 0)                                    // sizes of addresses and segments
		b = append(b, 50, 0, 0, 0, 1, 1, 1, 0xfb, 14, 3, 0, 1) // the header's length, and two operations
		b = append(b, 1, 1, 0x08)                              // a folder is a string
		b = append(b, folders...)
		b = append(b, 2, 1, 0x1f, 2, 0x0b) // a file is an offset and a byte
		return append(b, files...)
	}
	one, many := []byte{1, '/', 0}, binary.AppendUvarint(nil, 1<<40)
	file, files := []byte{1, 0, 0, 0, 0, 0}, binary.AppendUvarint(nil, 1<<30)
	for _, tt := range []struct {
		name   string
		table  []byte
		offset int64
		want   bool
	}{
		{"one of each", table(5, one, file), 0, true},
		{"more folders than bytes", table(5, many, nil), 0, false},
		{"more files than bytes", table(5, one, files), 0, false},
		{"a file that is cut off", table(5, one, []byte{1, 0, 0}), 0, false},
		{"an earlier version, which does not say", table(4, many, nil), 0, true},
		{"behind the end", table(5, one, file), 1000, false},
		{"in front of the beginning", table(5, one, file), -1, false},
		{"nothing", nil, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, honest(tt.table, tt.offset, binary.LittleEndian))
		})
	}
}
