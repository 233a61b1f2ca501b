// Package client is a small Kafka client for the commands of minibroker: requests in the newest version that both sides know, one
// after another, on one connection a broker. It speaks plain text only. Programs that do real work with Kafka use a real client; this
// one is here because that of the tests would make the binary half again as big.
package client
