package tlsconfig_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/tlsconfig"
	"github.com/livegraph/livegraph/test/testenv"
)

const (
	waitTimeout = time.Minute
	tick        = 20 * time.Millisecond
)

// copyFile returns a copy of a file that the test may change.
func copyFile(t *testing.T, from string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), filepath.Base(from))
	write(t, to, read(t, from))
	return to
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

func TestFilesThatCannotBeUsedAreNamedWithTheirSetting(t *testing.T) {
	authority := testenv.NewAuthority(t)
	mine, other := authority.Sign("mine", time.Hour), authority.Sign("other", time.Hour)
	empty := filepath.Join(t.TempDir(), "empty.pem")
	write(t, empty, "")
	encrypted := filepath.Join(t.TempDir(), "encrypted.key")
	write(t, encrypted, string(pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte("x")})))
	broken := filepath.Join(t.TempDir(), "broken.pem")
	write(t, broken, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("no certificate")})))
	for name, c := range map[string]struct {
		files tlsconfig.Files
		want  string
	}{
		"no CA file":          {tlsconfig.Files{CA: "/no/such.pem"}, "--redis-tls-ca: stat /no/such.pem"},
		"a folder":            {tlsconfig.Files{CA: t.TempDir()}, "--redis-tls-ca: "},
		"no CA in it":         {tlsconfig.Files{CA: empty}, "--redis-tls-ca: " + empty + ": it holds no PEM certificate"},
		"a key for a CA":      {tlsconfig.Files{CA: mine.Key}, "--redis-tls-ca: " + mine.Key},
		"no key":              {tlsconfig.Files{Cert: mine.Cert}, "--redis-tls-cert and --redis-tls-key go together"},
		"no certificate":      {tlsconfig.Files{Key: mine.Key}, "--redis-tls-cert and --redis-tls-key go together"},
		"the wrong way round": {tlsconfig.Files{Cert: mine.Key, Key: mine.Cert}, "--redis-tls-cert: " + mine.Key},
		"another's key": {
			tlsconfig.Files{Cert: mine.Cert, Key: other.Key},
			"--redis-tls-key: " + other.Key + ": it is not the key of " + mine.Cert,
		},
		"an encrypted key": {
			tlsconfig.Files{Cert: mine.Cert, Key: encrypted}, "--redis-tls-key: " + encrypted + ": it is encrypted",
		},
		"an empty key": {
			tlsconfig.Files{Cert: mine.Cert, Key: empty}, "--redis-tls-key: " + empty + ": it holds no PEM private key",
		},
		"a broken certificate": {tlsconfig.Files{Cert: broken, Key: mine.Key}, "--redis-tls-cert: " + broken},
	} {
		t.Run(name, func(t *testing.T) {
			c.files.Setting = "redis-tls"
			_, err := tlsconfig.NewClient(c.files)
			require.ErrorContains(t, err, c.want)
			require.True(t, fault.Is(err, fault.Invalid))
		})
	}
	_, err := tlsconfig.NewServer("tls", mine.Cert, "/no/such.key")
	require.ErrorContains(t, err, "--tls-key: stat /no/such.key")
}

// serve starts a server that sends one byte on each connection.
func serve(t *testing.T, config *tls.Config) (address string) {
	t.Helper()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", config)
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte{1})
			_ = conn.Close()
		}
	}()
	return listener.Addr().String()
}

// serverCertificate returns the certificate of a server.
func serverCertificate(address string, config *tls.Config) (*x509.Certificate, error) {
	conn, err := (&tls.Dialer{NetDialer: &net.Dialer{Timeout: waitTimeout}, Config: config}).Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	_, err = io.ReadFull(conn, make([]byte, 1))
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0], err
}

func TestTheListenerShowsARenewedCertificateAndKeepsTheOldOneMeanwhile(t *testing.T) {
	authority := testenv.NewAuthority(t)
	old := authority.Sign("localhost", time.Hour)
	cert, key := copyFile(t, old.Cert), copyFile(t, old.Key)
	fresh := authority.Sign("localhost", 2*time.Hour)
	server, err := tlsconfig.NewServer("tls", cert, key)
	require.NoError(t, err)
	address := serve(t, server.Config())
	config := &tls.Config{RootCAs: authority.Pool(), ServerName: "localhost"}
	first, err := serverCertificate(address, config)
	require.NoError(t, err)

	// An incomplete renewal: the certificate without its key, then garbage.
	for _, text := range []string{read(t, fresh.Cert), "garbage"} {
		write(t, cert, text)
		start := time.Now()
		require.Eventually(t, func() bool {
			now, err := serverCertificate(address, config)
			require.NoError(t, err)
			require.True(t, now.Equal(first))
			return time.Since(start) > 1200*time.Millisecond // longer than checkInterval
		}, waitTimeout, tick)
	}
	write(t, cert, read(t, fresh.Cert))
	write(t, key, read(t, fresh.Key))
	require.Eventually(t, func() bool {
		now, err := serverCertificate(address, config)
		require.NoError(t, err)
		return !now.Equal(first)
	}, waitTimeout, tick)
}

func TestTheListenerSpeaksNothingOlderThanTLS12(t *testing.T) {
	authority := testenv.NewAuthority(t)
	pair := authority.Sign("localhost", time.Hour)
	server, err := tlsconfig.NewServer("tls", pair.Cert, pair.Key)
	require.NoError(t, err)
	address := serve(t, server.Config())
	for version, spoken := range map[uint16]bool{
		tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true,
	} {
		_, err := serverCertificate(address, &tls.Config{
			RootCAs: authority.Pool(), ServerName: "localhost", MinVersion: tls.VersionTLS10, MaxVersion: version,
		})
		require.Equal(t, spoken, err == nil, "%s: %v", tls.VersionName(version), err)
	}
}

func TestACertificateNamesItsHosts(t *testing.T) {
	pair := testenv.NewAuthority(t).Sign("live.example.org", time.Hour)
	server, err := tlsconfig.NewServer("tls", pair.Cert, pair.Key)
	require.NoError(t, err)
	require.True(t, server.Covers("live.example.org"))
	require.True(t, server.Covers("127.0.0.1"))
	require.False(t, server.Covers("localhost"))
	require.False(t, server.Trusted(), "this machine's system does not know the test's CA")
}

func TestALocalClientBelievesThatVeryCertificate(t *testing.T) {
	mine, other := testenv.NewAuthority(t).Sign("somewhere", -time.Hour),
		testenv.NewAuthority(t).Sign("somewhere", time.Hour)
	file := copyFile(t, mine.Cert)
	config, err := tlsconfig.Local("tls", file)
	require.NoError(t, err)
	address := serve(t, &tls.Config{Certificates: []tls.Certificate{mine.Pair}})
	_, err = serverCertificate(address, config)
	require.NoError(t, err, "regardless of its name, issuer and validity")

	otherAddress := serve(t, &tls.Config{Certificates: []tls.Certificate{other.Pair}})
	_, err = serverCertificate(otherAddress, config)
	require.ErrorContains(t, err, file)

	write(t, file, read(t, other.Cert))
	require.Eventually(t, func() bool {
		_, err := serverCertificate(otherAddress, config)
		return err == nil
	}, waitTimeout, tick)

	_, err = tlsconfig.Local("tls", mine.Key)
	require.ErrorContains(t, err, "--tls-cert")
}

func TestErrorsOfTLSComeWithAdvice(t *testing.T) {
	settings := tlsconfig.Settings{
		Address: "LIVEGRAPH_REDIS_URL", CA: "LIVEGRAPH_REDIS_TLS_CA",
		Pair:       "LIVEGRAPH_REDIS_TLS_CERT and LIVEGRAPH_REDIS_TLS_KEY",
		ServerName: "LIVEGRAPH_REDIS_TLS_SERVER_NAME",
	}
	authority := testenv.NewAuthority(t)
	client, err := tlsconfig.NewClient(tlsconfig.Files{CA: authority.File})
	require.NoError(t, err)
	clientAuth := authority.ServerConfig("127.0.0.1")
	clientAuth.ClientAuth = tls.RequireAnyClientCert
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = plain.Close() }()
	go func() {
		for {
			conn, err := plain.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("-ERR unknown command\r\n"))
		}
	}()
	old := authority.ServerConfig("127.0.0.1")
	old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	for want, address := range map[string]string{
		"set LIVEGRAPH_REDIS_TLS_CA": serve(t, testenv.NewAuthority(t).ServerConfig("127.0.0.1")),
		"renew the server's certificate": serve(t, &tls.Config{Certificates: []tls.Certificate{
			authority.Sign("late", -time.Minute).Pair,
		}}),
		"set LIVEGRAPH_REDIS_TLS_CERT":                  serve(t, clientAuth),
		"the port or the scheme in LIVEGRAPH_REDIS_URL": plain.Addr().String(),
		"upgrade the server":                            serve(t, old),
	} {
		_, err := serverCertificate(address, client.Config(address))
		require.Error(t, err, want)
		require.Contains(t, settings.Advice(err), want, "%v", err)
	}
	other, err := tlsconfig.NewClient(tlsconfig.Files{CA: authority.File, ServerName: "another"})
	require.NoError(t, err)
	address := serve(t, authority.ServerConfig("localhost"))
	_, err = serverCertificate(address, other.Config(address))
	require.Contains(t, settings.Advice(err), "LIVEGRAPH_REDIS_TLS_SERVER_NAME")

	require.Empty(t, settings.Advice(nil))
	require.Empty(t, settings.Advice(errors.New("connection refused")))
}
