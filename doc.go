// Package minibroker is a Kafka broker in one process: it speaks Kafka's wire protocol and keeps Kafka's own files.
//
// Open builds the layers from the bottom up - log directories, metadata log, logs, partitions, handlers, listeners - and
// Close takes them down in the reverse order, leaving what a clean stop of Apache Kafka leaves. This package only wires:
// what a layer does is decided in the layer.
package minibroker
