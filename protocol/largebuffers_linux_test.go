package protocol

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestLargeClaimTakesNoMemory: a client that claims 100 MiB and sends 5 costs 5.
func TestLargeClaimTakesNoMemory(t *testing.T) {
	in := append(binary.BigEndian.AppendUint32(nil, 100*mib), make([]byte, 5*mib)...)
	var buffers Buffers
	var taken []byte
	buffers.large.provide = func(n int) ([]byte, error) {
		b, err := mapMemory(n)
		taken = b
		return b, err
	}
	ended := readerFunc(func() { // looks when all that was sent has been read
		if got := residentBytes(t, taken); got < 5*mib-64<<10 || got > 8*mib {
			t.Errorf("5 MiB of 100 take %d bytes", got)
		}
	})
	_, err := NewFrameReader(io.MultiReader(bytes.NewReader(in), ended), "a", 100*mib, &buffers).Next()
	if !errors.Is(err, io.ErrUnexpectedEOF) || len(taken) < 100*mib {
		t.Errorf("%v, %d bytes mapped", err, len(taken))
	}
}

type readerFunc func()

func (f readerFunc) Read([]byte) (int, error) {
	f()
	return 0, io.EOF
}

// residentBytes is how much of a mapping has memory.
func residentBytes(t *testing.T, mapped []byte) int {
	t.Helper()
	page := unix.Getpagesize()
	pages := make([]byte, len(mapped)/page)
	if _, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&mapped[0])), uintptr(len(mapped)), uintptr(unsafe.Pointer(&pages[0]))); errno != 0 {
		t.Fatal(errno)
	}
	n := 0
	for _, p := range pages {
		n += int(p & 1)
	}
	return n * page
}
