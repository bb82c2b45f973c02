package doctor

import (
	"context"
	"crypto/x509"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/livegraph/livegraph/internal/platform/tlsconfig"
)

// minCertificateLife is the remaining validity below which a certificate should be renewed.
const minCertificateLife = 14 * 24 * time.Hour

// tlsSettings returns the names of an engine's TLS settings. address is the variable of
// its address, such as LIVEGRAPH_REDIS_URL.
func tlsSettings(address string) tlsconfig.Settings {
	prefix := address[:strings.LastIndex(address, "_")] + "_TLS"
	return tlsconfig.Settings{
		Address: address, CA: prefix + "_CA", Pair: prefix + "_CERT and " + prefix + "_KEY",
		ServerName: prefix + "_SERVER_NAME",
	}
}

// filesAdvice is the advice for TLS files that cannot be used. The error names the files.
const filesAdvice = "correct that setting, or the file"

// checkCertificate checks the certificate of the listener.
func checkCertificate(_ context.Context, t Target) []Result {
	server, err := t.Listener.Server()
	if err != nil {
		return failed("certificate", t.Listener.Cert, err, filesAdvice)
	}
	if server == nil {
		return nil
	}
	leaf := server.Leaf()
	remaining := time.Until(leaf.NotAfter)
	r := Result{Name: "certificate", Status: OK, Address: t.Listener.Cert}
	days := int(math.Floor(remaining.Hours() / 24))
	r.Detail = fmt.Sprintf("for %s, valid for %d days", strings.Join(names(leaf), ", "), days)
	switch {
	case remaining <= 0:
		return failed("certificate", t.Listener.Cert, fmt.Errorf("ended on %s", leaf.NotAfter.Format(time.DateOnly)),
			"renew it in place: the listener reloads it automatically")
	case remaining < minCertificateLife:
		r.warn("it expires soon", "renew it in place: the listener reloads it automatically")
	}
	return []Result{r}
}

// names returns the DNS names and IP addresses of a certificate.
func names(leaf *x509.Certificate) []string {
	all := slices.Clone(leaf.DNSNames)
	for _, ip := range leaf.IPAddresses {
		all = append(all, ip.String())
	}
	return all
}
