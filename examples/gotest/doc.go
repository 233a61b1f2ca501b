// Package gotest shows how the tests of a program use brokertest, with the four clients that Go programs talk to Kafka with. It is
// a module of its own, so that the broker's module does not depend on them:
//
//	cd examples/gotest && go test -v .
package gotest
