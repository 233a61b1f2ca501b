package config

import (
	"fmt"
	"strings"
)

// Remedy says what to do about the error, a sentence for people.
func (e *Error) Remedy() string {
	for _, r := range [...]struct{ text, remedy string }{
		{"No security protocol defined for listener ", "say what the listener speaks: add {}:PLAINTEXT to listener.security.protocol.map (KAFKA_LISTENER_SECURITY_PROTOCOL_MAP)"},
		{"Each listener must have a different port", "give each listener, the controller's too, a port of its own"},
		{"If you have two listeners on the same port", "give each listener, the controller's too, a port of its own"},
		{"Each listener must have a different name", "give each listener a name of its own"},
		{"nonroutable meta-address 0.0.0.0", "listeners may bind 0.0.0.0, but set advertised.listeners (KAFKA_ADVERTISED_LISTENERS, --advertise) to a name that clients reach, such as localhost or the container's name"},
		{"listener names must be equal to or a subset", "advertise only listeners that listeners (KAFKA_LISTENERS) has, under the same names"},
		{"controller.listener.names must", "add the controller's listener to listeners, such as CONTROLLER://:9093, or leave controller.listener.names out"},
		{"There must be at least one broker advertised listener", "leave a listener for clients out of controller.listener.names"},
		{"inter.broker.listener.name must be", "set inter.broker.listener.name to one of these, or leave it out"},
		{"defined in inter.broker.listener.name not found", "set inter.broker.listener.name to a listener of listener.security.protocol.map, or leave it out"},
		{"must be included in the set of voters", "name this node in controller.quorum.voters (ID@HOST:PORT), or leave that out: a single node needs none"},
		{"must not be included in the set of voters", "set process.roles=broker,controller, or leave controller.quorum.voters out: a single node needs none"},
		{"to a broker endpoint", "write NAME://HOST:PORT, several with commas between them, as in PLAINTEXT://localhost:9092"},
		{"port out of range", "choose a port from 1 to 65535, or 0 for any free one"},
		{"`node.id` and `broker.id`", "leave broker.id out, or give both the same number"},
		{"which this broker does not serve yet", "use PLAINTEXT for this listener"},
		{"asks for access rules", "remove authorizer.class.name, or set allow.everyone.if.no.acl.found=true"},
		{"Malformed \\uxxxx", "write each backslash twice, or a \\u with four hexadecimal digits"},
		{"must not be empty", "give it a value, or remove it"},
	} {
		if _, rest, ok := strings.Cut(e.Text, r.text); ok {
			word, _, _ := strings.Cut(rest, " ")
			return strings.ReplaceAll(r.remedy, "{}", word)
		}
	}
	return e.usual()
}

// usual is the remedy for a value that breaks the rule of its setting.
func (e *Error) usual() string {
	s := findBrokerOrPrefixed(e.Name)
	if s == nil {
		return "correct or remove it"
	}
	if def, ok := defaultOf(s); ok {
		if def == "" {
			def = "empty"
		}
		return fmt.Sprintf("correct %s, or remove it: the default is %s", e.Name, def)
	}
	return "correct or remove " + e.Name
}
