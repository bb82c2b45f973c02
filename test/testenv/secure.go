package testenv

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/tlsconfig"
)

// Secure is a store's connection by TLS to a real engine, put to the test by
// RequireSecure.
type Secure struct {
	Engine   string // host:port of the engine itself
	Postgres bool   // it speaks Postgres' protocol
	// Open connects to the front, with these files, and gives what asks for a sign of
	// life. Its errors must not hold the words of Secrets.
	Open    func(t *testing.T, front *TLSFront, files tlsconfig.Files) (ping func() error, err error)
	Secrets []string
	// NoServerName: there is no setting for the name in the certificate.
	NoServerName bool
}

// RequireSecure checks that a connection is made to the right server alone, that it
// shows its own certificate, and that it uses files that were renewed.
func RequireSecure(t *testing.T, s Secure) {
	authority, stranger := NewAuthority(t), NewAuthority(t)
	server, client := authority.Sign("localhost", time.Hour), authority.Sign("livegraph", time.Hour)
	elsewhere, expired := authority.Sign("elsewhere", time.Hour), authority.Sign("localhost", -time.Hour)
	right := tlsconfig.Files{CA: authority.File, Setting: "engine-tls"}

	t.Run("the CA's server is believed", func(t *testing.T) {
		require.NoError(t, s.try(t, showing(server), right))
	})
	t.Run("another CA's server is not", func(t *testing.T) {
		var unknown x509.UnknownAuthorityError
		require.ErrorAs(t, s.try(t, showing(stranger.Sign("localhost", time.Hour)), right), &unknown)
	})
	t.Run("the system's CAs do not help", func(t *testing.T) {
		var unknown x509.UnknownAuthorityError
		require.ErrorAs(t, s.try(t, showing(server), tlsconfig.Files{}), &unknown)
	})
	t.Run("a server of another name is not believed", func(t *testing.T) {
		var name x509.HostnameError
		require.ErrorAs(t, s.try(t, showing(elsewhere), right), &name)
	})
	t.Run("unless that name is expected", func(t *testing.T) {
		if s.NoServerName {
			t.Skip("there is no such setting")
		}
		named := right
		named.ServerName = "elsewhere"
		require.NoError(t, s.try(t, showing(elsewhere), named))
	})
	t.Run("a certificate that has ended is not believed", func(t *testing.T) {
		var invalid x509.CertificateInvalidError
		require.ErrorAs(t, s.try(t, showing(expired), right), &invalid)
		require.Equal(t, x509.Expired, invalid.Reason)
	})
	asking := showing(server)
	asking.ClientAuth, asking.ClientCAs = tls.RequireAndVerifyClientCert, authority.Pool()
	t.Run("a client without a certificate is told so", func(t *testing.T) {
		require.ErrorContains(t, s.try(t, asking, right), "certificate required")
	})
	t.Run("a client shows its certificate", func(t *testing.T) {
		own := right
		own.Cert, own.Key = client.Cert, client.Key
		require.NoError(t, s.try(t, asking, own))
	})
	t.Run("renewed files are used without a restart", func(t *testing.T) { s.requireRenewal(t) })
}

// requireRenewal changes CA and certificates on both sides while a client lives.
func (s *Secure) requireRenewal(t *testing.T) {
	before, after := NewAuthority(t), NewAuthority(t)
	old, fresh := before.Sign("localhost", time.Hour), after.Sign("localhost", time.Hour)
	var shown atomic.Pointer[tls.Config]
	show := func(a *Authority, c Certificate) {
		config := showing(c)
		config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, a.Pool()
		shown.Store(config)
	}
	show(before, old)
	front := s.front(t, &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		return shown.Load(), nil
	}})
	mine := tlsconfig.Files{CA: before.File, Cert: old.Cert, Key: old.Key, Setting: "engine-tls"}
	ping, err := s.Open(t, front, mine)
	require.NoError(t, err)
	require.NoError(t, ping())

	show(after, fresh)
	front.Cut()
	require.Error(t, ping(), "the server is another now")
	for from, to := range map[string]string{after.File: mine.CA, fresh.Cert: mine.Cert, fresh.Key: mine.Key} {
		text, err := os.ReadFile(from)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(to, text, 0o600))
	}
	require.Eventually(t, func() bool { return ping() == nil }, 30*time.Second, 50*time.Millisecond)
}

func (s *Secure) front(t *testing.T, config *tls.Config) *TLSFront {
	if s.Postgres {
		return NewPostgresFront(t, s.Engine, config)
	}
	return NewTLSFront(t, s.Engine, config)
}

// try connects once.
func (s *Secure) try(t *testing.T, config *tls.Config, files tlsconfig.Files) error {
	front := s.front(t, config)
	ping, err := s.Open(t, front, files)
	if err == nil {
		err = ping()
	}
	if err == nil {
		require.Positive(t, front.Handshakes.Load(), "it has not spoken TLS")
		return nil
	}
	for _, secret := range s.Secrets {
		require.NotContains(t, err.Error(), secret)
	}
	return err
}

// showing is a server with a certificate, for HTTP/2 as for all else.
func showing(c Certificate) *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{c.Pair}, NextProtos: []string{"h2", "http/1.1"}}
}

// ServerConfig is that of a server with a certificate for a name.
func (a *Authority) ServerConfig(name string) *tls.Config {
	return showing(a.Sign(name, time.Hour))
}
