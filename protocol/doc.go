// Package protocol turns frames into kmsg requests and responses into frames:
// headers, the table of API versions, and the limits that keep a hostile frame
// from costing more than its own size. It opens no sockets.
package protocol
