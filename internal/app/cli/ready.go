package cli

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/livegraph/livegraph/internal/app/output"
	"github.com/livegraph/livegraph/internal/platform/config"
)

// readyLimitOfProbe is what the server has for its answer.
const readyLimitOfProbe = 3 * time.Second

// ReadyCmd asks the server on this machine whether it is ready, for health checks: its
// exit code is the answer.
type ReadyCmd struct {
	config.Config `embed:""`
}

// Run asks /readyz at the address that the server listens on by the same settings.
func (c *ReadyCmd) Run(ctx context.Context, out *output.Writer) error {
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return err
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	client := http.Client{Timeout: readyLimitOfProbe, Transport: &http.Transport{
		// It is this machine's own server, nothing secret goes either way, and it is
		// ready also while its certificate is being renewed.
		TLSClientConfig: &tls.Config{
			MinVersion:         tls.VersionTLS12,
			InsecureSkipVerify: true, //nolint:gosec // G402: it asks this machine for a sign of life, and sends nothing
		},
	}}
	defer client.CloseIdleConnections()
	scheme := "http"
	if c.TLS.Encrypted() {
		scheme = "https"
	}
	request, err := http.NewRequestWithContext(
		ctx, http.MethodGet, scheme+"://"+net.JoinHostPort(host, port)+"/readyz", nil,
	)
	if err != nil {
		return err
	}
	answer, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("no answer: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode == http.StatusOK {
		_, err = fmt.Fprintln(out, "ready")
		return err
	}
	var body struct{ Error struct{ Message string } }
	_ = json.NewDecoder(io.LimitReader(answer.Body, 1<<16)).Decode(&body)
	return fmt.Errorf("not ready: %s %s", answer.Status, body.Error.Message)
}
