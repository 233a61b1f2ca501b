// Package config knows Kafka's settings: names, types, defaults, valid values, and where a value comes from.
//
// A broker's settings come in layers, strongest first: a topic's own override, a dynamic setting of this broker,
// a dynamic setting of all brokers, the properties file (with command-line overrides), and Kafka's default.
// Parse makes the static part (Broker); Layers puts the dynamic ones on top of it and answers what applies, where it
// came from, and whether a change is allowed. Texts of refusals are Kafka's.
//
// The tables, defaults and texts are those of Apache Kafka 4.4.0, measured on it.
package config
