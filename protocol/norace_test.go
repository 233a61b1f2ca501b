//go:build !race

package protocol

// raceFactor is 2 under the race detector.
const raceFactor = 1
