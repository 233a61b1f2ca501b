package config

import (
	"strconv"
	"strings"
)

// parseVoters reads controller.quorum.voters, id@host:port, and gives the ids.
func parseVoters(entries []string) ([]int32, *Error) {
	const name = "controller.quorum.voters"
	const form = "Each entry should be in the form `{id}@{host}:{port}`."
	var ids []int32
	for _, entry := range entries {
		parts := strings.Split(entry, "@")
		if len(parts) != 2 {
			return nil, refuse(name, "Invalid configuration value for controller.quorum.voters. %s", form)
		}
		id, err := strconv.ParseInt(parts[0], 10, 32)
		if err != nil {
			return nil, refuse(name, "Failed to parse voter ID as an integer from %s", parts[0])
		}
		if !isHostPort(parts[1]) {
			return nil, refuse(name, "Failed to parse host name from entry %s for the configuration controller.quorum.voters. %s", entry, form)
		}
		ids = append(ids, int32(id))
	}
	return ids, nil
}

// verifyBootstrapServers checks controller.quorum.bootstrap.servers, host:port.
func verifyBootstrapServers(entries []string) *Error {
	const name = "controller.quorum.bootstrap.servers"
	for _, entry := range entries {
		if !isHostPort(entry) {
			return refuse(name, "Failed to parse host name from %s for the configuration %s. Each entry should be in the form \"{host}:{port}\"", entry, name)
		}
	}
	return nil
}

// isHostPort says whether this is host:port, where a protocol and :// may stand before the host.
func isHostPort(s string) bool {
	if i := strings.Index(s, "://"); i >= 0 && isHost(s[:i]) && !strings.Contains(s[:i], ":") {
		s = s[i+3:]
	}
	host, port, ok := cutLast(s, ":")
	_, err := strconv.ParseInt(port, 10, 32)
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return ok && err == nil && digits(port) && isHost(host)
}
