package metadata

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"minibroker/logstore"
)

// ParseVoters reads the voters of --initial-controllers:
//
//	id@host:port:directory-id, with commas between voters
//
// A host with colons stands in brackets. listener is the name of the
// controllers' listener. Errors are *FormatError.
func ParseVoters(text, listener string) ([]Voter, error) {
	var voters []Voter
	for _, one := range strings.Split(text, ",") {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
		v, err := parseVoter(one, listener)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(voters, func(have Voter) bool { return have.ID == v.ID }) {
			return nil, refuseFormat("Node id %d was specified more than once.", v.ID)
		}
		voters = append(voters, v)
	}
	if len(voters) == 0 {
		return nil, refuseFormat("No voters given.")
	}
	slices.SortFunc(voters, func(a, b Voter) int { return int(a.ID) - int(b.ID) })
	return voters, nil
}

func parseVoter(text, listener string) (Voter, error) {
	id, rest, ok := strings.Cut(text, "@")
	if !ok {
		return Voter{}, refuseFormat("No @ found in dynamic voter string.")
	}
	number, err := strconv.ParseInt(id, 10, 32)
	if err != nil {
		return Voter{}, refuseFormat("Failed to parse node id in dynamic voter string.")
	}
	if number < 0 {
		return Voter{}, refuseFormat("Invalid negative node id %d in dynamic voter string.", number)
	}
	bracket := 0
	if strings.HasPrefix(rest, "[") {
		if bracket = strings.Index(rest, "]"); bracket < 0 {
			return Voter{}, refuseFormat("Hostname began with left bracket, but no right bracket was found.")
		}
	}
	colon := strings.Index(rest[bracket:], ":")
	if colon < 0 {
		return Voter{}, refuseFormat("No colon following hostname could be found.")
	}
	host := spelledOut(strings.TrimSuffix(strings.TrimPrefix(rest[:bracket+colon], "["), "]"))
	port, directory, ok := strings.Cut(rest[bracket+colon+1:], ":")
	if !ok {
		return Voter{}, refuseFormat("No colon following port could be found.")
	}
	p, err := strconv.ParseInt(port, 10, 32)
	if err != nil {
		return Voter{}, refuseFormat("Failed to parse port in dynamic voter string.")
	}
	if p < 0 || p > 65535 {
		return Voter{}, refuseFormat("Invalid port %d in dynamic voter string.", p)
	}
	directoryID, err := logstore.ParseUUID(directory)
	if err != nil {
		return Voter{}, refuseFormat("Failed to parse directory ID in dynamic voter string.")
	}
	return NewVoter(int32(number), directoryID, []VoterEndpoint{{Name: listener, Host: host, Port: uint16(p)}}), nil
}

// spelledOut is how Java writes an IPv6 address: all eight groups. Other hosts
// stay as they are.
func spelledOut(host string) string {
	addr, err := netip.ParseAddr(host)
	if err != nil || !addr.Is6() || addr.Is4In6() {
		return host
	}
	b := addr.As16()
	groups := make([]string, 8)
	for i := range groups {
		groups[i] = strconv.FormatUint(uint64(b[2*i])<<8|uint64(b[2*i+1]), 16)
	}
	return strings.Join(groups, ":")
}
