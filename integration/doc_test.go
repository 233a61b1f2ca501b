// Package integration runs the minibroker binary as its users do: real processes, real clients, real signals. Its
// golden cases hold requests with fixed bytes and the directories that Apache Kafka 4.4.0 made of them (see
// testdata/golden/ORIGIN.md); minibroker must leave the same bytes.
package integration
