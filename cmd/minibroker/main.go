// Command minibroker starts a single-node broker that speaks Kafka's protocol.
package main

func main() {}
