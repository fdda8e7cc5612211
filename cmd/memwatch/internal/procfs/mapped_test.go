package procfs

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseMapped(t *testing.T) {
	m, ok := ParseMapped("7f01-7f02 rw-s 00000000 00:01 4711                       /memfd:lastuse.table.v1 (deleted)")
	require.True(t, ok)
	require.True(t, m.IsTable())
	require.Equal(t, uint64(4711), m.Inode)
	require.False(t, m.Executable)
	m, ok = ParseMapped("400000-401000 r-xp 00002000 fe:00 12 /bin/a b")
	require.True(t, ok)
	require.Equal(t, "/bin/a b", m.Name)
	require.True(t, m.Executable)
	require.Equal(t, uint64(0x2000), m.Offset)
	for _, line := range []string{"", "x", "7f02-7f01 rw-s 0 00:01 1 /memfd:lastuse.table.v1", "zz-7f rw-s 0 0:1 1", "7f01 rw-s 0 00:01 1 /a"} {
		_, ok := ParseMapped(line)
		require.False(t, ok, "%q", line)
	}
	for _, line := range []string{
		"7f01-7f02 rw-s 00001000 00:01 4711 /memfd:lastuse.table.v1", // not its beginning
		"7f01-7f02 rw-s 00000000 00:01 4711 /memfd:lastuse.table.v2",
		"7f01-7f02 rw-s 00000000 00:01 4711 /tmp/lastuse.table.v1",
	} {
		m, ok := ParseMapped(line)
		require.True(t, ok)
		require.False(t, m.IsTable(), "%q", line)
	}
}
