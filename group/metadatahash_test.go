package group

import "testing"

// The expected values are those of the library that Kafka uses.
func TestXXH3(t *testing.T) {
	for _, c := range []struct {
		size int
		want uint64
	}{
		{0, 0x2d06800538d394c2},
		{1, 0x13e608bc156defed},
		{3, 0xa9088dda485b481c},
		{4, 0x6d9253b16c8b1ed3},
		{8, 0x60539db630471163},
		{9, 0xfeff668361d723a8},
		{16, 0xb8c859b0f030b585},
		{17, 0x714a04408e79b80f},
		{40, 0x5fe78a29955db15a},
		{128, 0x67425a03650261bf},
		{129, 0xc664bf3311c6abc4},
		{200, 0x746cd0025327bf5b},
		{240, 0x64556dc6b462a6cf},
		{241, 0x8beadd3a8874fe17},
		{400, 0x2698ec10a9d00dfe},
		{1023, 0xd26986a0b85dcc44},
		{1024, 0x9b81661c641c72b1},
		{1025, 0x806c2072ed713576},
		{5000, 0x799aaddd7339581d},
	} {
		b := make([]byte, c.size)
		for i := range b {
			b[i] = byte(i*7 + 3)
		}
		if got := xxh3(b); got != c.want {
			t.Errorf("%d bytes: %#x, want %#x", c.size, got, c.want)
		}
	}
}

// The expected values are in records that Apache Kafka 4.4.0 wrote.
func TestMetadataHash(t *testing.T) {
	topics := newTopicSet(1,
		Topic{ID: [16]byte{0x83, 0x75, 0xed, 0xaa, 0x45, 0xdc, 0x40, 0xd5, 0xaa, 0xbe, 0x3e, 0x0c, 0xb9, 0x78, 0x65, 0x04}, Name: "t2", Partitions: 3},
		Topic{ID: [16]byte{0xfd, 0x74, 0xd3, 0x2c, 0x9e, 0x4b, 0x4c, 0x19, 0x9a, 0x05, 0x65, 0xd4, 0x20, 0x1d, 0x02, 0xa0}, Name: "t4", Partitions: 1})
	if got := metadataHash([]string{"t2"}, topics); got != 0x35d36d7eaa0470bd {
		t.Errorf("t2: %#x", got)
	}
	if got := metadataHash([]string{"t4", "t2"}, topics); got != -903588997285772193 {
		t.Errorf("t4 and t2: %d", got)
	}
	if got := metadataHash(nil, topics); got != 0 {
		t.Errorf("no topics: %d", got)
	}
}
