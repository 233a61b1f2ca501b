package main

import "testing"

func TestReadOnlyMapping(t *testing.T) {
	const file = "/usr/bin/mini broker"
	for line, want := range map[string][2]uintptr{
		"00400000-009e5000 r-xp 00000000 08:01 123456    /usr/bin/mini broker\n": {0x400000, 0x9e5000},
		"009e5000-00f00000 r--p 005e5000 08:01 123456    /usr/bin/mini broker\n": {0x9e5000, 0xf00000},
		"00f00000-00f60000 rw-p 00b00000 08:01 123456    /usr/bin/mini broker\n": {},
		"00400000-009e5000 r-xp 00000000 08:01 123456    /usr/bin/other\n":       {},
		"7ffd1000-7ffd3000 r-xp 00000000 00:00 0         [vdso]\n":               {},
		"x-009e5000 r-xp 00000000 08:01 123456    /usr/bin/mini broker\n":        {},
		"": {},
	} {
		start, end, ok := readOnlyMapping([]byte(line), file)
		if ok != (want != [2]uintptr{}) || ok && (start != want[0] || end != want[1]) {
			t.Errorf("%q: %x-%x, %t", line, start, end, ok)
		}
	}
	dropStartPages() // and the program goes on
}
