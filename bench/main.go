// Command bench measures minibroker beside Apache Kafka and two other brokers that speak its protocol, beside what the
// machine can do at all, and against itself: docs/benchmarks.md says how, and holds what it printed.
//
//	go run ./bench report    all brokers side by side, and the machine's limits
//	go run ./bench cost      what one more partition, connection or segment costs
//	go run ./bench soak      half an hour of everything at once, in which nothing may grow
//	go run ./bench compare   Go benchmarks of this tree against another commit, interleaved
//
// It runs on Linux, from within the repository.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		cancel()
		os.Exit(1)
	}
}

// run does what the first argument names.
func run(ctx context.Context, args []string, out io.Writer) error {
	commands := map[string]func(context.Context, []string, io.Writer) error{
		"report": reportCommand, "cost": costCommand, "soak": soakCommand, "compare": compareCommand,
		receiverCommand: receiveLimit, senderCommand: sendLimit, answerCommand: answerLimit,
	}
	if len(args) == 0 || commands[args[0]] == nil {
		return errors.New("say what to do: report, cost, soak or compare, each with -h for its flags")
	}
	return commands[args[0]](ctx, args[1:], out)
}
