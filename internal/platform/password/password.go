// Package password hashes operators' passwords with Argon2id and checks them.
// It stores nothing.
package password

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"
)

// The cost parameters: the OWASP recommendation of 2024 for Argon2id (19 MiB, 2 passes,
// one lane), about 20 ms.
const (
	memoryKiB  = 19 * 1024
	passes     = 2
	lanes      = 1
	saltLength = 16
	hashLength = 32
	// Limits of the parameters of a stored hash.
	maxMemoryKiB = 256 * 1024
	maxPasses    = 16
)

const alphabet = "23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz" // without characters that look alike

// Generate creates a password of 24 characters, 139 random bits.
func Generate() string {
	text := make([]byte, 0, 24)
	for len(text) < cap(text) {
		var random [32]byte
		_, _ = rand.Read(random[:]) // never fails: crypto/rand ends the process instead
		for _, b := range random {
			if int(b) < 256-256%len(alphabet) && len(text) < cap(text) {
				text = append(text, alphabet[int(b)%len(alphabet)])
			}
		}
	}
	return string(text)
}

// Hash returns the PHC string of a password with a new salt:
// $argon2id$v=19$m=…,t=…,p=…$salt$hash.
func Hash(text string) string {
	var salt [saltLength]byte
	_, _ = rand.Read(salt[:])
	hash := argon2.IDKey([]byte(text), salt[:], passes, memoryKiB, lanes, hashLength)
	encode := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf(
		"$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, memoryKiB, passes, lanes, encode(salt[:]), encode(hash),
	)
}

// Matches reports whether text is the password of the PHC string stored. An invalid
// string matches no password.
func Matches(stored, text string) bool {
	parts := strings.Split(stored, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return false
	}
	var memory, time uint32
	var threads uint8
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &memory, &time, &threads); err != nil ||
		memory > maxMemoryKiB || time < 1 || time > maxPasses || threads < 1 {
		return false
	}
	salt, err := base64.RawStdEncoding.DecodeString(parts[4])
	if err != nil {
		return false
	}
	want, err := base64.RawStdEncoding.DecodeString(parts[5])
	if err != nil || len(want) != hashLength {
		return false
	}
	return subtle.ConstantTimeCompare(argon2.IDKey([]byte(text), salt, time, memory, threads, hashLength), want) == 1
}
