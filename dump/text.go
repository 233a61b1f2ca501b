package dump

import (
	"encoding/base64"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// javaString is the text that Java makes of bytes as UTF-8: each sequence that is none becomes one U+FFFD, and a sequence that is cut
// off counts as one up to where it breaks.
func javaString(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var out strings.Builder
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		if r == utf8.RuneError && size <= 1 {
			size = malformedLength(b)
		}
		out.WriteRune(r)
		b = b[size:]
	}
	return out.String()
}

// malformedLength is how many bytes at the front make one malformed sequence: a lead byte with the continuation bytes that could
// still follow it.
func malformedLength(b []byte) int {
	want := 0
	low, high := byte(0x80), byte(0xbf)
	switch c := b[0]; {
	case c >= 0xc2 && c <= 0xdf:
		want = 1
	case c >= 0xe0 && c <= 0xef:
		want = 2
		if c == 0xe0 {
			low = 0xa0
		}
	case c >= 0xf0 && c <= 0xf4:
		want = 3
		if c == 0xf0 {
			low = 0x90
		} else if c == 0xf4 {
			high = 0x8f
		}
	}
	n := 1
	for n <= want && n < len(b) && b[n] >= low && b[n] <= high {
		n++
		low, high = 0x80, 0xbf
	}
	return n
}

// appendQuoted appends a JSON string as Jackson writes it: what lies beyond ASCII stays as it is.
func appendQuoted(out []byte, s string) []byte {
	const hex = "0123456789ABCDEF"
	out = append(out, '"')
	for i := range len(s) {
		switch c := s[i]; c {
		case '"', '\\':
			out = append(out, '\\', c)
		case '\b':
			out = append(out, '\\', 'b')
		case '\t':
			out = append(out, '\\', 't')
		case '\n':
			out = append(out, '\\', 'n')
		case '\f':
			out = append(out, '\\', 'f')
		case '\r':
			out = append(out, '\\', 'r')
		default:
			if c < ' ' {
				out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			} else {
				out = append(out, c)
			}
		}
	}
	return append(out, '"')
}

func appendBase64(out, b []byte) []byte {
	out = append(out, '"')
	out = base64.StdEncoding.AppendEncode(out, b)
	return append(out, '"')
}

// javaDouble prints as Java's Double.toString: plain from 0.001 up to ten million, else with an exponent, always with a point.
func javaDouble(f float64) string {
	switch {
	case math.IsNaN(f):
		return `"NaN"`
	case math.IsInf(f, 1):
		return `"Infinity"`
	case math.IsInf(f, -1):
		return `"-Infinity"`
	}
	if abs := math.Abs(f); abs == 0 || abs >= 1e-3 && abs < 1e7 {
		s := strconv.FormatFloat(f, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, 64), "e")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	sign := ""
	if exponent[0] == '-' {
		sign = "-"
	}
	return mantissa + "E" + sign + strings.TrimLeft(exponent, "+-0")
}
