package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/livegraph/livegraph/internal/app/cli/target"
	"github.com/livegraph/livegraph/internal/app/client"
	"github.com/livegraph/livegraph/internal/platform/runfile"
	"github.com/livegraph/livegraph/internal/services/mcpserver"
)

const (
	// mcpStartTimeout is the timeout of reading the key's scopes.
	mcpStartTimeout = 15 * time.Second
	maxAccountBytes = 1 << 20
)

// MCPCmd offers a workspace to a language model.
type MCPCmd struct {
	target.Target `embed:""`
	URL           string    `name:"url" help:"Address of the server's API; default: that of the server on --data-dir." env:"LIVEGRAPH_URL" placeholder:"URL"`
	Key           string    `help:"API key; tools whose scopes it does not have are not offered. Better given as LIVEGRAPH_API_KEY." env:"LIVEGRAPH_API_KEY" placeholder:"KEY" required:""`
	Workspace     uuid.UUID `help:"The key's workspace." env:"LIVEGRAPH_WORKSPACE_ID" placeholder:"ID" required:""`
}

// Run serves the protocol on stdin and stdout until stdin ends.
func (c *MCPCmd) Run(ctx context.Context, version buildVersion) error {
	server, err := c.FindServer(c.URL)
	if err != nil {
		return fmt.Errorf("%w; name a server on another machine with --url", err)
	}
	transport, err := mcpTransport(server)
	if err != nil {
		return err
	}
	o := mcpserver.Options{
		Version: string(version), Transport: transport, URL: strings.TrimRight(server.URL, "/"),
		Header: http.Header{
			"Authorization": {"Bearer " + c.Key}, "X-Workspace-Id": {c.Workspace.String()},
			"User-Agent": {"livegraph-mcp/" + string(version)},
		},
	}
	if o.Scopes, err = keyScopes(ctx, &o); err != nil {
		return err
	}
	err = mcpserver.New(o).Run(ctx, &mcp.StdioTransport{})
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) || errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// mcpTransport returns the transport to a server.
func mcpTransport(server runfile.Server) (http.RoundTripper, error) {
	transport, err := client.LocalTransport(server)
	if err != nil || transport != nil {
		return transport, err
	}
	return http.DefaultTransport.(*http.Transport).Clone(), nil
}

// keyScopes returns the scopes of the key.
func keyScopes(ctx context.Context, o *mcpserver.Options) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, mcpStartTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, o.URL+"/api/me", http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("the server's address %q: %w", o.URL, err)
	}
	r.Header = o.Header.Clone()
	r.Header.Del("X-Workspace-Id")
	answer, err := o.Transport.RoundTrip(r)
	if err != nil {
		return nil, fmt.Errorf("the server cannot be reached: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	var account struct {
		Data  struct{ Scopes []string }
		Error struct{ Message string }
	}
	err = json.NewDecoder(io.LimitReader(answer.Body, maxAccountBytes)).Decode(&account)
	switch {
	case err != nil:
		return nil, fmt.Errorf(
			"%s is not a server of Livegraph: its answer to /api/me has status %d", o.URL, answer.StatusCode,
		)
	case answer.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("the server refuses the key: %s", account.Error.Message)
	}
	return account.Data.Scopes, nil
}
