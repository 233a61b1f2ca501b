package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"minibroker"
	"minibroker/config"
)

// stopPatience bounds a clean stop; what is not done by then is left to the next start's recovery.
const stopPatience = 30 * time.Second

// collectAt is the garbage collector's pace: half again as much garbage as live memory. A broker holds little memory and makes
// little garbage, so the price is small and the process stays small.
const collectAt = 50

// setPace sets the collector's pace unless the environment does.
func setPace(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// serve runs a broker until a signal ends it. The soft limit of open files needs no care here: Go raises it at start.
func serve(f flags, stdout io.Writer) error {
	levels := newLoggers(slog.LevelInfo)
	out := newGathered(stdout)
	defer out.pass()
	handler, err := newHandler(f.logFormat, out, levels)
	if err != nil {
		return err
	}
	log := slog.New(handler)
	pace := paceStart()
	defer pace.end()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	defer signal.Stop(signals)

	started := time.Now()
	topics, err := f.startTopics()
	if err != nil {
		return err
	}
	conf, own, err := f.configure(log, levels)
	if err != nil {
		return err
	}
	log.Info("Kafka version: "+kafkaVersion, loggerKey, "org.apache.kafka.common.utils.internals.AppInfoParser")

	observing, err := newObserving(log, own)
	if err != nil {
		return fatal(log, err)
	}
	defer observing.close()

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		watch(log, signals, out, cancel, quit)
	}()
	defer func() { close(quit); <-ended }()

	broker, err := minibroker.Open(ctx, minibroker.Options{Config: conf, Logger: log, Loggers: levels, ReadOnly: f.readOnly != "",
		ClusterID: f.env.settings.ClusterID.Value, Topics: topics,
		Requests: observing.requests, Faults: observing.faults})
	if err != nil {
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			return nil // ended by a signal while it started, with nothing left running
		}
		return fatal(log, err)
	}
	pace.end()
	if err := errors.Join(observing.watch(broker), f.writePorts(broker)); err != nil {
		return errors.Join(fatal(log, err), stop(log, conf.NodeID(), broker))
	}
	defer f.removePorts()
	took := time.Since(started)
	sayReady(log, conf, broker, took)
	out.pass()
	defer giveBackAtRest(max(firstRest, took), restAfter, restEvery, processorTime, giveMemoryBack).stop()
	select {
	case err := <-broker.Failed():
		broker.Abort() // nothing can be written any more
		return fatal(log, err)
	case <-ctx.Done():
	}
	return stop(log, conf.NodeID(), broker)
}

// configure reads the settings, Kafka's and our own, and says in the log what is to be said about them.
func (f flags) configure(log *slog.Logger, levels *loggers) (conf *config.Broker, own map[string]string, err error) {
	props, err := f.properties()
	if err != nil {
		return nil, nil, err
	}
	props, own = f.ownSettings(props)
	conf, notices, err := config.Parse(props)
	if err != nil {
		return nil, nil, fatal(log, err)
	}
	for _, text := range f.env.setLevels(levels) {
		log.Warn(text, loggerKey, "kafka.server.KafkaConfig")
	}
	for _, n := range notices {
		log.Log(context.Background(), n.Level, n.Text, loggerKey, n.Logger)
	}
	return conf, own, nil
}

// watch waits for a signal, calls cancel, and then lets a second signal end the process at once. Closing quit ends it.
func watch(log *slog.Logger, signals <-chan os.Signal, out *gathered, cancel context.CancelFunc, quit <-chan struct{}) {
	select {
	case s := <-signals:
		log.Info("Terminating process due to signal "+signalName(s), loggerKey, "org.apache.kafka.common.utils.internals.LoggingSignalHandler")
		cancel()
	case <-quit:
		return
	}
	select {
	case <-signals:
		out.pass()
		os.Exit(exitRuntime)
	case <-quit:
	}
}

func signalName(s os.Signal) string {
	if s == syscall.SIGINT {
		return "SIGINT"
	}
	return "SIGTERM"
}

// sayReady prints the lines that scripts, test frameworks and people wait for. All of them are there because different ones
// wait for different lines.
func sayReady(log *slog.Logger, conf *config.Broker, broker *minibroker.Broker, took time.Duration) {
	for _, name := range broker.Listeners() {
		if addr := broker.Addr(name); addr != nil {
			log.Info(fmt.Sprintf("Awaiting socket connections on %s.", addr), loggerKey, "kafka.network.DataPlaneAcceptor")
		}
	}
	id := conf.NodeID()
	log.Info(fmt.Sprintf("Started in %d ms with data in %v", took.Milliseconds(), conf.LogDirs()))
	log.Info(fmt.Sprintf("[BrokerLifecycleManager id=%d] The broker has been unfenced. Transitioning from RECOVERY to RUNNING.", id),
		loggerKey, "org.apache.kafka.server.BrokerLifecycleManager")
	log.Info(fmt.Sprintf("[KafkaServer id=%d] started", id), loggerKey, "kafka.server.KafkaServer")
	log.Info(fmt.Sprintf("[KafkaRaftServer nodeId=%d] Kafka Server started", id), loggerKey, "kafka.server.KafkaRaftServer")
}

func stop(log *slog.Logger, id int32, broker *minibroker.Broker) error {
	log.Info(fmt.Sprintf("[BrokerServer id=%d] shutting down", id), loggerKey, "kafka.server.BrokerServer")
	ctx, cancel := context.WithTimeout(context.Background(), stopPatience)
	defer cancel()
	if err := broker.Close(ctx); err != nil {
		return fatal(log, err)
	}
	log.Info(fmt.Sprintf("[BrokerServer id=%d] shut down completed", id), loggerKey, "kafka.server.BrokerServer")
	return nil
}

// fatal puts an error into the log as Kafka does and hands it on.
func fatal(log *slog.Logger, err error) error {
	log.Error("Exiting Kafka due to fatal exception: "+err.Error(), loggerKey, "kafka.Kafka$")
	return err
}
