package record

// Codec is how the records of a batch are compressed; the number is the one in
// the batch's attributes.
type Codec int8

// The codecs.
const (
	None   Codec = 0
	Gzip   Codec = 1
	Snappy Codec = 2
	Lz4    Codec = 3
	Zstd   Codec = 4
)

var codecNames = [...]string{"none", "gzip", "snappy", "lz4", "zstd"}

// Known tells whether c is one of the five codecs.
func (c Codec) Known() bool { return c >= None && c <= Zstd }

// String returns the name that compression.type uses, except that None is
// "none".
func (c Codec) String() string {
	if !c.Known() {
		return "unknown"
	}
	return codecNames[c]
}
