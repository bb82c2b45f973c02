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

	"github.com/livegraph/livegraph/internal/app/cli/target"
	"github.com/livegraph/livegraph/internal/app/output"
)

// readyTimeout bounds the wait for the server's answer.
const readyTimeout = 3 * time.Second

// ReadyCmd asks the server on this machine whether it is ready, for health checks: its
// exit code is the answer.
type ReadyCmd struct {
	target.Settings `embed:""`
}

// Run requests /readyz at the address that a server with the same settings listens on.
func (c *ReadyCmd) Run(ctx context.Context, out *output.Writer) error {
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return err
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	client := http.Client{Timeout: readyTimeout, Transport: &http.Transport{
		// The certificate is not verified: the server runs on this machine, no secrets are
		// exchanged, and the server is ready also while its certificate is being renewed.
		TLSClientConfig: &tls.Config{
			MinVersion:         tls.VersionTLS12,
			InsecureSkipVerify: true, //nolint:gosec // G402: a probe of this machine, which sends no data
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
