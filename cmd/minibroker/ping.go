package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"minibroker/client"
)

// The request and the beginning of its answer, big endian:
//
//	size int32 | key int16 = 18 (ApiVersions) | version int16 = 0 | correlation id int32 | client id int16 length + bytes
//	size int32 | correlation id int32 | error code int16 | ...
const (
	apiVersionsKey    = 18
	pingCorrelationID = 0x70696e67
	pingClientID      = "minibroker-ping"
)

// ping asks the broker at addr for its API versions and fails unless it answers that request without an error in time.
func ping(addr string, timeout time.Duration) error {
	conn, err := net.DialTimeout("tcp", addr, timeout)
	if err != nil {
		return fmt.Errorf("ping %s: %w", addr, err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		return fmt.Errorf("ping %s: %w", addr, err)
	}
	body := binary.BigEndian.AppendUint16(nil, apiVersionsKey)
	body = binary.BigEndian.AppendUint16(body, 0)
	body = binary.BigEndian.AppendUint32(body, pingCorrelationID)
	body = binary.BigEndian.AppendUint16(body, uint16(len(pingClientID)))
	body = append(body, pingClientID...)
	if _, err := conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)); err != nil {
		return fmt.Errorf("ping %s: %w", addr, err)
	}
	var answer [10]byte
	if _, err := io.ReadFull(conn, answer[:]); err != nil {
		return fmt.Errorf("ping %s: no answer: %w", addr, err)
	}
	if id := binary.BigEndian.Uint32(answer[4:]); id != pingCorrelationID {
		return fmt.Errorf("ping %s: %w", addr, client.ErrNoBroker)
	}
	if code := binary.BigEndian.Uint16(answer[8:]); code != 0 {
		return fmt.Errorf("ping %s: error code %d", addr, int16(code))
	}
	return nil
}
