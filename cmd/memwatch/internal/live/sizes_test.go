//go:build linux && amd64

package live

import (
	"bufio"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestSizes asks again and again whether a process may have mapped something: in the beginning, when it has
// become another program, when its number is another's or nobody's, and of everybody once in a rotation.
func TestSizes(t *testing.T) {
	cmd := exec.Command("sh", "-c", "read x; exec cat")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	pid := cmd.Process.Pid
	s := newSizes()
	defer s.close()
	turn := func() bool {
		s.next()
		return s.changed(pid)
	}
	require.True(t, turn(), "it is new")
	// The shell may still be starting: it holds still when nothing has changed for two rotations.
	require.Eventually(t, func() bool {
		looks := 0
		for range 2 * rotation {
			if turn() {
				looks++
			}
		}
		return looks == 2
	}, time.Minute, time.Millisecond, "once in each rotation")
	_, err = in.Write([]byte("go\nhello\n"))
	require.NoError(t, err)
	line, err := bufio.NewReader(out).ReadString('\n') // which the other program writes
	require.NoError(t, err)
	require.Equal(t, "hello\n", line)
	for (pid+s.turn+1)%rotation == 0 {
		s.turn++
	}
	require.True(t, turn(), "it is another program")

	fd := s.of[pid].fd
	s.next()
	s.next() // nobody asked in between
	require.Empty(t, s.of)
	require.ErrorIs(t, unix.Close(fd), unix.EBADF)

	require.True(t, turn())
	require.NoError(t, cmd.Process.Kill())
	cmd.Wait()
	require.True(t, turn(), "nobody has the number")
	require.Empty(t, s.of)

	s.most = 0
	require.True(t, turn() && turn(), "there is no room for files")
}
