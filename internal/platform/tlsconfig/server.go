package tlsconfig

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
)

// Server holds a listener's certificate. It is safe for concurrent use.
type Server struct{ files *follower[*tls.Certificate] }

// NewServer reads a certificate, its chain behind it, and its key. Errors name the
// settings, setting-cert and setting-key.
func NewServer(setting, cert, key string) (*Server, error) {
	files := []file{{setting + "-cert", cert}, {setting + "-key", key}}
	followed, err := follow(files, func(held []contents) (*tls.Certificate, error) {
		made, err := pair(held[0], held[1])
		return &made, err
	})
	if err != nil {
		return nil, err
	}
	return &Server{followed}, nil
}

// Config returns the listener's configuration: TLS 1.2 or later, HTTP/2 and HTTP/1.1.
// Each handshake takes the files as they are by then.
func (s *Server) Config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return s.files.current(), nil
		},
	}
}

// Leaf is the certificate itself, without its chain.
func (s *Server) Leaf() *x509.Certificate { return s.files.current().Leaf }

// Covers reports whether the certificate is for a host, a name or an address.
func (s *Server) Covers(host string) bool { return s.Leaf().VerifyHostname(host) == nil }

// Trusted reports whether anyone who trusts what this machine's system trusts also
// trusts the certificate.
func (s *Server) Trusted() bool {
	chain := x509.NewCertPool()
	for _, der := range s.files.current().Certificate[1:] {
		if c, err := x509.ParseCertificate(der); err == nil {
			chain.AddCert(c)
		}
	}
	_, err := s.Leaf().Verify(x509.VerifyOptions{Intermediates: chain})
	return err == nil
}

// Local returns the configuration of a client on the same machine as a server whose
// certificate is in a file: it takes that same certificate, whatever names it has and
// anyone who issued it, and no other.
func Local(setting, cert string) (*tls.Config, error) {
	leaf, err := follow([]file{{setting + "-cert", cert}}, func(held []contents) ([]byte, error) {
		block, _ := pem.Decode(held[0].pem)
		if block == nil || block.Type != "CERTIFICATE" {
			return nil, held[0].fault("it holds no PEM certificate")
		}
		return block.Bytes, nil
	})
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, //nolint:gosec // G402: VerifyConnection compares the very certificate instead
		VerifyConnection: func(state tls.ConnectionState) error {
			if !bytes.Equal(state.PeerCertificates[0].Raw, leaf.current()) {
				return fmt.Errorf("the server's certificate is not the one in %s", cert)
			}
			return nil
		},
	}, nil
}
