package metadata

import (
	"crypto/rand"
	"encoding/base64"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// ParseScram reads an argument of --add-scram:
//
//	SCRAM-SHA-256=[name=alice,iterations=8192,salt="N3E=",password=secret]
//
// Instead of the password there may be a saltedpassword with its salt, both in
// base64. Errors are *FormatError.
func ParseScram(text string) (*UserScramCredentialRecord, error) {
	name, rest, ok := strings.Cut(text, "=")
	if !ok {
		return nil, refuseFormat("Failed to find equals sign in SCRAM argument '%s'", text)
	}
	user := ScramUser{Mechanism: ScramSHA256}
	switch name {
	case "SCRAM-SHA-256":
	case "SCRAM-SHA-512":
		user.Mechanism = ScramSHA512
	default:
		return nil, refuseFormat("The add-scram mechanism %s is not supported.", name)
	}
	parts, err := parseScramParts(rest)
	if err != nil {
		return nil, err
	}
	take := func(key string) (string, bool) {
		value, ok := parts[key]
		delete(parts, key)
		return value, ok
	}
	if user.Name, ok = take("name"); !ok {
		return nil, refuseFormat("You must supply 'name' to add-scram")
	}
	iterations, err := scramIterations(take, strings.ReplaceAll(name, "-", "_"))
	if err != nil {
		return nil, err
	}
	salt, salted, err := scramPassword(take, user.Mechanism, iterations)
	if err != nil {
		return nil, err
	}
	if len(parts) > 0 {
		return nil, refuseFormat("Unknown SCRAM configurations: %s", strings.Join(slices.Sorted(maps.Keys(parts)), ", "))
	}
	return NewScramCredential(user, salt, salted, int32(iterations)), nil
}

// parseScramParts reads [key=value,...]; values may stand in double quotes.
func parseScramParts(text string) (map[string]string, error) {
	if !strings.HasPrefix(text, "[") {
		return nil, refuseFormat("Expected configuration string to start with [")
	}
	if !strings.HasSuffix(text, "]") {
		return nil, refuseFormat("Expected configuration string to end with ]")
	}
	parts := map[string]string{}
	for _, part := range strings.Split(text[1:len(text)-1], ",") {
		key, value, ok := strings.Cut(part, "=")
		if !ok {
			return nil, refuseFormat("No equals sign found in SCRAM component: %s", part)
		}
		if len(value) >= 2 && strings.HasPrefix(value, `"`) && strings.HasSuffix(value, `"`) {
			value = value[1 : len(value)-1]
		}
		parts[key] = value
	}
	return parts, nil
}

func scramIterations(take func(string) (string, bool), mechanism string) (int, error) {
	text, given := take("iterations")
	if !given {
		return MinScramIterations, nil
	}
	n, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return 0, refuseFormat("Failed to parse iterations count: %s", text)
	case n < MinScramIterations:
		return 0, refuseFormat("The 'iterations' value must be >= %d for add-scram using %s", MinScramIterations, mechanism)
	case n > MaxScramIterations:
		return 0, refuseFormat("The 'iterations' value must be <= %d for add-scram using %s", MaxScramIterations, mechanism)
	}
	return n, nil
}

// scramPassword gives the salt and the salted password. A salt that is not
// given is 26 random characters, as many as Kafka takes.
func scramPassword(take func(string) (string, bool), mechanism int8, iterations int) (salt, salted []byte, err error) {
	text, saltGiven := take("salt")
	salt = []byte(strings.ToLower(rand.Text()))
	if saltGiven {
		if salt, err = base64.StdEncoding.DecodeString(text); err != nil {
			return nil, nil, refuseFormat("Failed to decode given salt: %s", text)
		}
	}
	password, hasPassword := take("password")
	text, hasSalted := take("saltedpassword")
	switch {
	case hasSalted:
		if !saltGiven {
			return nil, nil, refuseFormat("You must supply 'salt' with 'saltedpassword' to add-scram")
		}
		if salted, err = base64.StdEncoding.DecodeString(text); err != nil {
			return nil, nil, refuseFormat("Failed to decode given saltedpassword: %s", text)
		}
		return salt, salted, nil
	case hasPassword:
		salted, err = SaltPassword(mechanism, password, salt, iterations)
		return salt, salted, err
	}
	return nil, nil, refuseFormat("You must supply one of 'password' or 'saltedpassword' to add-scram")
}
