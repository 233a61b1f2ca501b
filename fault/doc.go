// Package fault makes a broker misbehave on purpose, for tests of clients: requests that match a rule are answered with an error
// code, late, or not at all. Without a rule it costs one load per request.
package fault
