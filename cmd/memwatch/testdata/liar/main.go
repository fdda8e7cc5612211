// Liar is a program whose table lies, for tests of memwatch. Its argument says how. It
// prints a line when its table stands and ends with its input.
package main

import (
	"fmt"
	"io"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/lastuse/lastuse/internal/probe"
)

func main() {
	fd, err := unix.MemfdCreate(probe.Name, 0)
	if err != nil {
		panic(err)
	}
	h := probe.Plan{Accounts: 1, Shards: 1, Sites: 1, Text: 4096}.Place()
	size := h.Size
	var a probe.Account
	lie := os.Args[1]
	switch lie {
	case "garbage":
		h.Magic = 0
	case "version":
		h.Version = 77
	case "sizes":
		h.Shards.Cap, h.Shards.Used = 1<<60, 1<<60
	case "huge":
		size = 1 << 40
		h.Size = size
		h.Text = probe.Region{Offset: probe.HeaderSize, Cap: probe.MaxText, Used: probe.MaxText}
	case "shrunk":
	case "marker":
		h.AllocMarker, h.FreeMarker = 0x1000, 0x1000
	case "name":
		h.Accounts.Used = 1
		a = probe.Account{State: probe.StateOpen, Reserved: 1 << 63, Past: probe.Totals{MadeBytes: 5, FreedBytes: 7}}
		a.NameLength = uint32(copy(a.Name[:], "\x1b]0;owned\x07\u202eevil\n"))
	}
	if err := unix.Ftruncate(fd, int64(size)); err != nil {
		panic(err)
	}
	base, err := unix.MmapPtr(fd, 0, nil, uintptr(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_NORESERVE)
	if err != nil {
		panic(err)
	}
	*(*probe.Header)(base) = h
	*(*probe.Account)(unsafe.Add(base, probe.HeaderSize)) = a
	if lie == "shrunk" {
		if err := unix.Ftruncate(fd, 100); err != nil {
			panic(err)
		}
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
}
