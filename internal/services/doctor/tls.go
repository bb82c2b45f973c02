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

// renewalNearly is how long before its end a certificate should have been renewed.
const renewalNearly = 14 * 24 * time.Hour

// tlsSettings returns the names of an engine's TLS settings. address is the variable of
// its address, such as LIVEGRAPH_REDIS_URL.
func tlsSettings(address string) tlsconfig.Settings {
	prefix := address[:strings.LastIndex(address, "_")] + "_TLS"
	return tlsconfig.Settings{
		Address: address, CA: prefix + "_CA", Pair: prefix + "_CERT and " + prefix + "_KEY",
		ServerName: prefix + "_SERVER_NAME",
	}
}

// filesAdvice is what to do about TLS files that cannot be used; the error names them.
const filesAdvice = "correct that setting, or the file"

// checkCertificate looks at the listener's own certificate.
func checkCertificate(_ context.Context, t Target) []Result {
	server, err := t.Listener.Server()
	if err != nil {
		return failed("certificate", t.Listener.Cert, err, filesAdvice)
	}
	if server == nil {
		return nil
	}
	leaf := server.Leaf()
	left := time.Until(leaf.NotAfter)
	r := Result{Name: "certificate", Status: OK, Address: t.Listener.Cert}
	r.Detail = fmt.Sprintf("for %s, valid for %d days", strings.Join(names(leaf), ", "), int(math.Floor(left.Hours()/24)))
	switch {
	case left <= 0:
		return failed("certificate", t.Listener.Cert, fmt.Errorf("ended on %s", leaf.NotAfter.Format(time.DateOnly)),
			"renew it in place: the listener takes the new one by itself")
	case left < renewalNearly:
		r.warn("that is not long", "renew it in place: the listener takes the new one by itself")
	}
	return []Result{r}
}

// names returns the names and addresses that a certificate is for.
func names(leaf *x509.Certificate) []string {
	found := slices.Clone(leaf.DNSNames)
	for _, ip := range leaf.IPAddresses {
		found = append(found, ip.String())
	}
	return found
}
