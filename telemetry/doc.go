// Package telemetry decides which metrics a client is asked for and how often
// it may send them. What clients send is accepted, counted and dropped: there is
// no plugin that takes it.
package telemetry
