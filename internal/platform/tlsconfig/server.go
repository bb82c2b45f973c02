package tlsconfig

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
)

// Server has the certificate of a listener. It is safe for concurrent use.
type Server struct{ files *reloader[*tls.Certificate] }

// NewServer reads a certificate, followed by its chain, and its key. Errors name the
// settings, setting-cert and setting-key.
func NewServer(setting, cert, key string) (*Server, error) {
	files := []file{{setting + "-cert", cert}, {setting + "-key", key}}
	r, err := newReloader(files, func(loaded []contents) (*tls.Certificate, error) {
		certificate, err := pair(loaded[0], loaded[1])
		return &certificate, err
	})
	if err != nil {
		return nil, err
	}
	return &Server{r}, nil
}

// Config returns the configuration of the listener: TLS 1.2 or later, HTTP/2 and HTTP/1.1.
// Each handshake uses the current contents of the files.
func (s *Server) Config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return s.files.current(), nil
		},
	}
}

// Leaf returns the certificate without its chain.
func (s *Server) Leaf() *x509.Certificate { return s.files.current().Leaf }

// Covers reports whether the certificate is valid for a host, a name or an address.
func (s *Server) Covers(host string) bool { return s.Leaf().VerifyHostname(host) == nil }

// Trusted reports whether the certificate is trusted with the CAs of this machine's
// system.
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
// certificate is in a file. It accepts exactly that certificate, regardless of its names,
// issuer and validity.
func Local(setting, cert string) (*tls.Config, error) {
	leaf, err := newReloader([]file{{setting + "-cert", cert}}, func(loaded []contents) ([]byte, error) {
		block, _ := pem.Decode(loaded[0].pem)
		if block == nil || block.Type != "CERTIFICATE" {
			return nil, loaded[0].errorf("it holds no PEM certificate")
		}
		return block.Bytes, nil
	})
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, //nolint:gosec // G402: VerifyConnection compares the certificate instead
		VerifyConnection: func(state tls.ConnectionState) error {
			if !bytes.Equal(state.PeerCertificates[0].Raw, leaf.current()) {
				return fmt.Errorf("the server's certificate is not the one in %s", cert)
			}
			return nil
		},
	}, nil
}
