// Package observe shows a broker over HTTP: metrics under the names by which dashboards ask Kafka for them, health, profiles, and
// on a port of its own the control of faults. It stands above the broker, so that programs that embed one need not link HTTP.
package observe
