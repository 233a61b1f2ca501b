//go:build race

package protocol

// raceFactor: the race detector keeps the compiler from extending slices in
// place, so that decoding makes each array twice.
const raceFactor = 2
