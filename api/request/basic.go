package request

import (
	"encoding/base64"
	"strings"
)

// BasicPassword returns the password in the credentials of an Authorization header of scheme Basic. The
// clients of other products send a key as the password. The user name is ignored.
func BasicPassword(credentials string) (password string, ok bool) {
	plain, err := base64.StdEncoding.DecodeString(strings.TrimLeft(credentials, " "))
	_, password, ok = strings.Cut(string(plain), ":")
	return password, ok && err == nil
}
