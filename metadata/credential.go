package metadata

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/sha512"
	"hash"
)

// The mechanisms of SCRAM, and the iterations that Kafka 4.4.0 accepts.
const (
	ScramSHA256 int8 = 1
	ScramSHA512 int8 = 2

	MinScramIterations = 4096
	MaxScramIterations = 16384
)

func scramHash(mechanism int8) func() hash.Hash {
	if mechanism == ScramSHA512 {
		return sha512.New
	}
	return sha256.New
}

// SaltPassword derives what SCRAM works with from a password (RFC 5802).
func SaltPassword(mechanism int8, password string, salt []byte, iterations int) ([]byte, error) {
	newHash := scramHash(mechanism)
	return pbkdf2.Key(newHash, password, salt, iterations, newHash().Size())
}

// NewScramCredential makes the credential of a salted password: what is stored
// does not let anyone log in as the user.
func NewScramCredential(user ScramUser, salt, saltedPassword []byte, iterations int32) *UserScramCredentialRecord {
	newHash := scramHash(user.Mechanism)
	stored := newHash()
	stored.Write(scramKey(newHash, saltedPassword, "Client Key"))
	return &UserScramCredentialRecord{
		Name: user.Name, Mechanism: user.Mechanism, Salt: salt, Iterations: iterations,
		StoredKey: stored.Sum(nil), ServerKey: scramKey(newHash, saltedPassword, "Server Key"),
	}
}

// scramKey derives a key from a salted password.
func scramKey(newHash func() hash.Hash, saltedPassword []byte, name string) []byte {
	mac := hmac.New(newHash, saltedPassword)
	mac.Write([]byte(name))
	return mac.Sum(nil)
}
