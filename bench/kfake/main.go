// Command kfake serves franz-go's fake cluster as one node, so that it can be measured like a broker of its own.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/twmb/franz-go/pkg/kfake"
)

func main() {
	port := flag.Int("port", 9092, "port on 127.0.0.1")
	dir := flag.String("data", "", "directory that keeps what is written; without it memory does")
	flag.Parse()
	options := []kfake.Opt{kfake.NumBrokers(1), kfake.Ports(*port), kfake.AllowAutoTopicCreation(), kfake.DefaultNumPartitions(1),
		kfake.BrokerConfigs(map[string]string{"log.cleaner.backoff.ms": "100"})} // as the others are told; by default it looks once an hour
	if *dir != "" {
		options = append(options, kfake.DataDir(*dir))
	}
	cluster, err := kfake.NewCluster(options...)
	if err != nil {
		fmt.Fprintln(os.Stderr, "kfake:", err)
		os.Exit(1)
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	<-ended
	cluster.Close()
}
