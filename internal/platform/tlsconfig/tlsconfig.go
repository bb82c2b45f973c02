// Package tlsconfig makes TLS configurations out of PEM files, for the connections to
// the engines ([Client]) and for the listener ([Server]), and follows the files: a
// certificate that is renewed in place is used from the next connection on, without
// a restart.
//
// Files that cannot be used are an error (fault.Invalid) when they are read first.
// Later they are logged, and what was read before stays in force: a renewal that
// writes one file after the other, or half of one, cuts nobody off.
//
// Nothing here turns verification off. A server with its own certificate making
// is trusted by naming that certificate as the CA.
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

// pair makes a key pair, and says which of the two files is at fault.
func pair(certificate, key contents) (tls.Certificate, error) {
	var none tls.Certificate
	if blocks(certificate.pem, "CERTIFICATE") == 0 {
		return none, certificate.fault("it holds no PEM certificate")
	}
	if bytes.Contains(key.pem, []byte("ENCRYPTED")) {
		return none, key.fault("it is encrypted; give the key without a passphrase, readable by this user alone")
	}
	if blocks(key.pem, "PRIVATE KEY") == 0 {
		return none, key.fault("it holds no PEM private key")
	}
	made, err := tls.X509KeyPair(certificate.pem, key.pem)
	if err != nil {
		if strings.Contains(err.Error(), "does not match") {
			return none, key.fault("it is not the key of %s", certificate.path)
		}
		return none, certificate.fault("%v (key: %s)", err, key.path)
	}
	return made, nil
}

// pool makes a pool of the certificates in a file.
func pool(ca contents) (*x509.CertPool, error) {
	made := x509.NewCertPool()
	if !made.AppendCertsFromPEM(ca.pem) {
		return nil, ca.fault("it holds no PEM certificate")
	}
	return made, nil
}

// blocks counts the PEM blocks whose type ends as given: keys are of several types.
func blocks(text []byte, kind string) int {
	n := 0
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if strings.HasSuffix(block.Type, kind) {
			n++
		}
	}
	return n
}

// contents is what a file held when it was read.
type contents struct {
	setting, path string
	pem           []byte
}

// fault is an error that names the setting and the file.
func (c contents) fault(format string, args ...any) error {
	return fault.Newf(fault.Invalid, "--%s: %s: %s", c.setting, c.path, fmt.Sprintf(format, args...))
}

// Settings are what an operator calls the TLS settings of one connection.
type Settings struct {
	Address    string // names the host
	CA         string
	Pair       string // the client's certificate and its key
	ServerName string // may be empty: there is no such setting
}

// Advice reports what to do about an error of TLS, or "" when err is none.
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
	case strings.Contains(err.Error(), alertMark+"protocol version"):
		return "upgrade the server: TLS 1.2 is the least that is spoken"
	case strings.Contains(err.Error(), alertMark):
		return "the server does not take our side of TLS: set " + s.Pair +
			" to a client certificate that its CA issued and that is still valid"
	}
	return ""
}

// alertMark begins what crypto/tls says of a server that breaks off; its type is not
// exported, and not every client keeps it.
const alertMark = "remote error: tls: "
