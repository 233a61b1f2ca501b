package cleaner

import (
	"encoding/binary"
	"fmt"
	"testing"
)

func TestOffsetMapLimit(t *testing.T) {
	m := NewOffsetMap(24*24, 0.9)
	for i := 0; !m.Full(); i++ {
		m.Put(fmt.Appendf(nil, "key-%d", i), int64(i))
	}
	if m.Len() != 21 || m.Latest() != 20 {
		t.Errorf("%d keys up to %d, want 21 up to 20", m.Len(), m.Latest())
	}
	if m.Get(nil) != -1 || m.Get([]byte("key-20")) != 20 {
		t.Errorf("absent key at %d, last one at %d", m.Get(nil), m.Get([]byte("key-20")))
	}
}

// TestOffsetMapMemory: the memory follows the number of keys and stays within
// the setting.
func TestOffsetMapMemory(t *testing.T) {
	const memory = 4 << 20
	m := NewOffsetMap(memory, 0.9)
	if m.Bytes() != 0 {
		t.Errorf("an empty map has %d bytes", m.Bytes())
	}
	var key [8]byte
	for i := 0; !m.Full(); i++ {
		binary.BigEndian.PutUint64(key[:], uint64(i))
		m.Put(key[:], int64(i))
		if i == 10_000 && m.Bytes() > 2*10_000*slotBytes {
			t.Errorf("%d keys take %d bytes", m.Len(), m.Bytes())
		}
	}
	if m.Bytes() > memory+memory/50 || m.Len() != memory/slotBytes*9/10 {
		t.Errorf("full with %d keys in %d bytes", m.Len(), m.Bytes())
	}
	for i := range m.Len() {
		binary.BigEndian.PutUint64(key[:], uint64(i))
		if got := m.Get(key[:]); got != int64(i) {
			t.Fatalf("key %d at %d", i, got)
		}
	}
}

// FuzzOffsetMap holds the map against one of Go's. The input is a list of keys
// of one or two bytes each, put at rising offsets.
func FuzzOffsetMap(f *testing.F) {
	f.Add([]byte("abcabcdef"), uint16(24*8), false)
	f.Add([]byte{0, 0, 1, 255, 3, 3, 3}, uint16(0), true)
	long := make([]byte, 3000)
	for i := range long {
		long[i] = byte(i * 7 >> 3)
	}
	f.Add(long, uint16(60_000), true)
	f.Fuzz(func(t *testing.T, keys []byte, memory uint16, wide bool) {
		m, want := NewOffsetMap(int64(memory)*64, 0.9), map[string]int64{}
		offset := int64(0)
		for len(keys) > 0 && !m.Full() {
			n := 1
			if wide && len(keys) > 1 {
				n = 2
			}
			m.Put(keys[:n], offset)
			want[string(keys[:n])] = offset
			keys = keys[n:]
			offset += 3
		}
		if m.Len() != len(want) {
			t.Fatalf("%d keys, want %d", m.Len(), len(want))
		}
		for key, at := range want {
			if got := m.Get([]byte(key)); got != at {
				t.Fatalf("key %q at %d, want %d", key, got, at)
			}
		}
		probes := []probe{{hash: hashKey([]byte("absent"))}}
		for key := range want {
			probes = append(probes, probe{hash: hashKey([]byte(key))})
		}
		m.getAll(probes)
		if probes[0].offset != -1 {
			t.Fatalf("an absent key is at %d", probes[0].offset)
		}
		for _, p := range probes[1:] {
			if slot := m.getHash(p.hash); p.offset != slot {
				t.Fatalf("found at %d one by one, at %d together", slot, p.offset)
			}
		}
		if got := m.Get([]byte("absent")); got != -1 {
			t.Fatalf("an absent key is at %d", got)
		}
	})
}
