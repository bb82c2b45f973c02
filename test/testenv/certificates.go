package testenv

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Authority signs certificates for a test.
type Authority struct {
	t    testing.TB
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	File string // path of its own certificate
}

// Certificate has the paths of a certificate, its key, and a file with both.
type Certificate struct {
	Cert, Key, Combined string
	Pair                tls.Certificate
}

// NewAuthority creates an authority that only the test trusts.
func NewAuthority(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{t: t, dir: t.TempDir()}
	template := a.template("Livegraph's tests", time.Hour)
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	var der []byte
	a.key, der = a.sign(template, template, nil)
	var err error
	a.cert, err = x509.ParseCertificate(der)
	require.NoError(t, err)
	a.File = a.write("ca.pem", block("CERTIFICATE", der))
	return a
}

// Sign creates a server and client certificate for the loopback addresses and a name. It
// expires after validFor; if that is negative, it has already expired.
func (a *Authority) Sign(name string, validFor time.Duration) Certificate {
	a.t.Helper()
	template := a.template(name, validFor)
	template.DNSNames = []string{name}
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	key, der := a.sign(template, a.cert, a.key)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(a.t, err)
	certPEM, keyPEM := block("CERTIFICATE", der), block("PRIVATE KEY", pkcs8)
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	require.NoError(a.t, err)
	return Certificate{
		Cert: a.write(name+".pem", certPEM), Key: a.write(name+".key", keyPEM),
		Combined: a.write(name+"-both.pem", append(keyPEM, certPEM...)), Pair: pair,
	}
}

// Pool returns a pool with the authority's certificate.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

func (a *Authority) template(name string, validFor time.Duration) *x509.Certificate {
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	require.NoError(a.t, err)
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: now.Add(-24 * time.Hour), NotAfter: now.Add(validFor),
	}
}

func (a *Authority) sign(template, parent *x509.Certificate, signer *ecdsa.PrivateKey) (*ecdsa.PrivateKey, []byte) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	if signer == nil {
		signer = key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	require.NoError(a.t, err)
	return key, der
}

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func (a *Authority) write(name string, text []byte) string {
	path := filepath.Join(a.dir, name)
	require.NoError(a.t, os.WriteFile(path, text, 0o600))
	return path
}
