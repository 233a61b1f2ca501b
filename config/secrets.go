package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// maxSecretBytes bounds a file that holds one password.
const maxSecretBytes = 64 << 10

// secretsOf gives the settings of key and trust stores that Kafka's image makes of file names: the stores, and the passwords that
// lie in files beside them. Only advertised listeners with SSL ask for them.
func secretsOf(vars map[string]string, dir string) ([]Property, error) {
	if !strings.Contains(vars["KAFKA_ADVERTISED_LISTENERS"], "SSL://") || vars["KAFKA_SSL_KEYSTORE_LOCATION"] != "" {
		return nil, nil
	}
	s := secrets{vars: vars, dir: dir}
	s.store("KAFKA_SSL_KEYSTORE_FILENAME", "ssl.keystore.location")
	s.password("KAFKA_SSL_KEY_CREDENTIALS", "ssl.key.password")
	s.password("KAFKA_SSL_KEYSTORE_CREDENTIALS", "ssl.keystore.password")
	if auth := vars["KAFKA_SSL_CLIENT_AUTH"]; strings.Contains(auth, "required") || strings.Contains(auth, "requested") {
		s.store("KAFKA_SSL_TRUSTSTORE_FILENAME", "ssl.truststore.location")
		s.password("KAFKA_SSL_TRUSTSTORE_CREDENTIALS", "ssl.truststore.password")
	}
	return s.props, s.err
}

// secrets gathers settings until the first mistake.
type secrets struct {
	vars  map[string]string
	dir   string
	props []Property
	err   error
}

// path is the file that a variable names.
func (s *secrets) path(variable string) string {
	if s.err != nil {
		return ""
	}
	if s.vars[variable] == "" {
		s.err = fmt.Errorf("%s environment variable not set: an advertised listener is SSL:// or SASL_SSL://; name a file of %s with it, "+
			"or give ssl.keystore.location (KAFKA_SSL_KEYSTORE_LOCATION)", variable, s.dir)
		return ""
	}
	path := filepath.Join(s.dir, s.vars[variable])
	if _, err := os.Stat(path); err != nil {
		s.err = fmt.Errorf("%s%s: %s file does not exist or cannot be reached (%w); mount it there", environmentSource, variable, path, err)
	}
	return path
}

func (s *secrets) store(variable, key string) {
	if path := s.path(variable); s.err == nil {
		s.props = append(s.props, Property{Key: key, Value: path, Source: environmentSource + variable})
	}
}

func (s *secrets) password(variable, key string) {
	path := s.path(variable)
	if s.err != nil {
		return
	}
	info, err := os.Stat(path)
	if err == nil && info.Size() > maxSecretBytes {
		err = fmt.Errorf("%s has %d bytes: this cannot be a password", path, info.Size())
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(path)
	}
	if err != nil {
		s.err = fmt.Errorf("%s%s: %w", environmentSource, variable, err)
		return
	}
	// A shell's $(cat file) drops line ends behind the last line.
	s.props = append(s.props, Property{Key: key, Value: strings.TrimRight(string(data), "\n"), Source: environmentSource + variable})
}
