// Package server carries requests between connections and a Handler: listeners,
// one goroutine per connection, deadlines, limits, and answers that go out of
// segment files without passing through memory.
package server
