// Package tlsconfig creates TLS configurations from PEM files, for the connections to
// the engines ([Client]) and for the listener ([Server]). It reloads changed files: a
// certificate that is renewed in place is used from the next connection on, without
// a restart.
//
// Files that cannot be used are an error (fault.Invalid) when they are first read.
// Later they are logged, and the previous contents stay in use. A renewal that writes one
// file after the other, or a partial file, therefore does not break connections.
//
// The package never disables verification. To trust a server with a self-signed
// certificate, use that certificate as the CA.
package tlsconfig

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// pair parses a key pair. Its errors name the invalid file.
func pair(certificate, key contents) (tls.Certificate, error) {
	var none tls.Certificate
	if blocks(certificate.pem, "CERTIFICATE") == 0 {
		return none, certificate.errorf("it holds no PEM certificate")
	}
	if bytes.Contains(key.pem, []byte("ENCRYPTED")) {
		return none, key.errorf("it is encrypted; give the key without a passphrase, readable by this user alone")
	}
	if blocks(key.pem, "PRIVATE KEY") == 0 {
		return none, key.errorf("it holds no PEM private key")
	}
	parsed, err := tls.X509KeyPair(certificate.pem, key.pem)
	if err != nil {
		if strings.Contains(err.Error(), "does not match") {
			return none, key.errorf("it is not the key of %s", certificate.path)
		}
		return none, certificate.errorf("%v (key: %s)", err, key.path)
	}
	return parsed, nil
}

// pool returns a pool with the certificates of a file.
func pool(ca contents) (*x509.CertPool, error) {
	certificates := x509.NewCertPool()
	if !certificates.AppendCertsFromPEM(ca.pem) {
		return nil, ca.errorf("it holds no PEM certificate")
	}
	return certificates, nil
}

// blocks counts the PEM blocks whose type has the suffix, because keys have several types.
func blocks(text []byte, suffix string) int {
	n := 0
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if strings.HasSuffix(block.Type, suffix) {
			n++
		}
	}
	return n
}

// contents is the content of a file.
type contents struct {
	setting, path string
	pem           []byte
}

// errorf returns an error with the names of the setting and of the file.
func (c contents) errorf(format string, args ...any) error {
	return fault.Newf(fault.Invalid, "--%s: %s: %s", c.setting, c.path, fmt.Sprintf(format, args...))
}

// Settings has the names of the TLS settings of one connection, as known to an operator.
type Settings struct {
	Address    string // setting with the host
	CA         string
	Pair       string // settings of the client certificate and its key
	ServerName string // empty: there is no such setting
}

// Advice returns advice for a TLS error, or "" if err is not one.
func (s Settings) Advice(err error) string {
	var (
		unknown x509.UnknownAuthorityError
		name    x509.HostnameError
		invalid x509.CertificateInvalidError
		plain   tls.RecordHeaderError
	)
	switch {
	case err == nil:
	case errors.As(err, &unknown):
		return "set " + s.CA + " to the CA that issued the server's certificate"
	case errors.As(err, &name):
		advice := "use a name of the server's certificate in " + s.Address
		if s.ServerName != "" {
			advice += ", or set " + s.ServerName + " to one"
		}
		return advice
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "renew the server's certificate (or correct this machine's clock)"
	case errors.As(err, &invalid):
		return "give the server a certificate that is valid for servers"
	case errors.As(err, &plain):
		return "that port does not speak TLS: correct the port or the scheme in " + s.Address
	case strings.Contains(err.Error(), alertPrefix+"protocol version"):
		return "upgrade the server: TLS 1.2 or later is required"
	case strings.Contains(err.Error(), alertPrefix):
		return "the server rejects the client's side of TLS: set " + s.Pair +
			" to a client certificate that its CA issued and that is still valid"
	}
	return ""
}

// alertPrefix is the prefix of the text of TLS alerts in crypto/tls. Their type is not exported,
// and not every client preserves it.
const alertPrefix = "remote error: tls: "
