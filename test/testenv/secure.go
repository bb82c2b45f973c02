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

// TLSTarget is a TLS client connection to a real engine, which RequireTLS tests.
type TLSTarget struct {
	Engine   string // host:port of the engine itself
	Postgres bool   // the engine uses the protocol of Postgres
	// Open connects to the front with these files and returns a ping function. Errors of
	// both must not contain any of Secrets.
	Open    func(t *testing.T, front *TLSProxy, files tlsconfig.Files) (ping func() error, err error)
	Secrets []string
	// NoServerName reports that there is no setting for the expected name in the
	// certificate.
	NoServerName bool
}

// RequireTLS tests that a client only connects to a server with a valid certificate, that
// it presents its own certificate, and that it uses renewed files.
func RequireTLS(t *testing.T, s TLSTarget) {
	authority, otherAuthority := NewAuthority(t), NewAuthority(t)
	server, client := authority.Sign("localhost", time.Hour), authority.Sign("livegraph", time.Hour)
	elsewhere, expired := authority.Sign("elsewhere", time.Hour), authority.Sign("localhost", -time.Hour)
	right := tlsconfig.Files{CA: authority.File, Setting: "engine-tls"}

	t.Run("a server of the CA is trusted", func(t *testing.T) {
		require.NoError(t, s.try(t, serverConfig(server), right))
	})
	t.Run("a server of another CA is not trusted", func(t *testing.T) {
		var unknown x509.UnknownAuthorityError
		require.ErrorAs(t, s.try(t, serverConfig(otherAuthority.Sign("localhost", time.Hour)), right), &unknown)
	})
	t.Run("the system's CAs do not trust the server", func(t *testing.T) {
		var unknown x509.UnknownAuthorityError
		require.ErrorAs(t, s.try(t, serverConfig(server), tlsconfig.Files{}), &unknown)
	})
	t.Run("a server of another name is not trusted", func(t *testing.T) {
		var name x509.HostnameError
		require.ErrorAs(t, s.try(t, serverConfig(elsewhere), right), &name)
	})
	t.Run("a server of another name is trusted if that name is expected", func(t *testing.T) {
		if s.NoServerName {
			t.Skip("there is no such setting")
		}
		named := right
		named.ServerName = "elsewhere"
		require.NoError(t, s.try(t, serverConfig(elsewhere), named))
	})
	t.Run("an expired certificate is not trusted", func(t *testing.T) {
		var invalid x509.CertificateInvalidError
		require.ErrorAs(t, s.try(t, serverConfig(expired), right), &invalid)
		require.Equal(t, x509.Expired, invalid.Reason)
	})
	requiresCert := serverConfig(server)
	requiresCert.ClientAuth, requiresCert.ClientCAs = tls.RequireAndVerifyClientCert, authority.Pool()
	t.Run("a client without a certificate is rejected", func(t *testing.T) {
		require.ErrorContains(t, s.try(t, requiresCert, right), "certificate required")
	})
	t.Run("a client presents its certificate", func(t *testing.T) {
		own := right
		own.Cert, own.Key = client.Cert, client.Key
		require.NoError(t, s.try(t, requiresCert, own))
	})
	t.Run("renewed files are used without a restart", func(t *testing.T) { s.requireRenewal(t) })
}

// requireRenewal changes the CA and certificates of both sides while a client is open.
func (s *TLSTarget) requireRenewal(t *testing.T) {
	before, after := NewAuthority(t), NewAuthority(t)
	old, fresh := before.Sign("localhost", time.Hour), after.Sign("localhost", time.Hour)
	var current atomic.Pointer[tls.Config]
	present := func(a *Authority, c Certificate) {
		config := serverConfig(c)
		config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, a.Pool()
		current.Store(config)
	}
	present(before, old)
	front := s.front(t, &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		return current.Load(), nil
	}})
	files := tlsconfig.Files{CA: before.File, Cert: old.Cert, Key: old.Key, Setting: "engine-tls"}
	ping, err := s.Open(t, front, files)
	require.NoError(t, err)
	require.NoError(t, ping())

	present(after, fresh)
	front.CloseConnections()
	require.Error(t, ping(), "the server has a certificate of the new CA")
	for from, to := range map[string]string{after.File: files.CA, fresh.Cert: files.Cert, fresh.Key: files.Key} {
		text, err := os.ReadFile(from)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(to, text, 0o600))
	}
	require.Eventually(t, func() bool { return ping() == nil }, time.Minute, 50*time.Millisecond)
}

func (s *TLSTarget) front(t *testing.T, config *tls.Config) *TLSProxy {
	if s.Postgres {
		return NewPostgresProxy(t, s.Engine, config)
	}
	return NewTLSProxy(t, s.Engine, config)
}

// try opens a connection and pings once.
func (s *TLSTarget) try(t *testing.T, config *tls.Config, files tlsconfig.Files) error {
	front := s.front(t, config)
	ping, err := s.Open(t, front, files)
	if err == nil {
		err = ping()
	}
	if err == nil {
		require.Positive(t, front.Handshakes.Load(), "the connection did not use TLS")
		return nil
	}
	for _, secret := range s.Secrets {
		require.NotContains(t, err.Error(), secret)
	}
	return err
}

// serverConfig returns the configuration of a server with a certificate, with and without HTTP/2.
func serverConfig(c Certificate) *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{c.Pair}, NextProtos: []string{"h2", "http/1.1"}}
}

// ServerConfig returns the configuration of a server with a certificate for a name.
func (a *Authority) ServerConfig(name string) *tls.Config {
	return serverConfig(a.Sign(name, time.Hour))
}
