package handlers

import (
	"net"

	"minibroker/protocol"
)

// clientHost is the sender's address as groups show it: Java's form of an
// address without a name.
func clientHost(req *protocol.Request) string {
	host, _, err := net.SplitHostPort(req.RemoteAddr)
	if err != nil {
		host = req.RemoteAddr
	}
	return "/" + host
}

// clientID is the sender's name, "" when it gave none.
func clientID(req *protocol.Request) string {
	if req.ClientID == nil {
		return ""
	}
	return *req.ClientID
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// groupOperations are what may be done to a group by whom nothing is forbidden:
// read, delete, describe, and describe and alter its settings, as bits.
const groupOperations = 1<<3 | 1<<6 | 1<<8 | 1<<10 | 1<<11
