// Package lint holds the rules of this repository that the compiler does not
// know, as tests over its source: which package may import which, how long
// files and functions may be, and what must not be written at all. Each finding
// says what to do about it. Run it with
//
//	go test ./internal/lint
package lint
