package livegraph

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// Client is a client of one workspace of a Livegraph server. It is safe for concurrent use.
type Client struct {
	// Sources are the sources of points.
	Sources *Sources
	// Points are the points of sources.
	Points *Points
	// Nodes are the nodes of the graph.
	Nodes *Nodes
	// Edges are the edges of the graph.
	Edges *Edges
	// Commands change the graph.
	Commands *Commands
	// Changes are the changes of the graph.
	Changes *Changes
	// Documents are texts that become nodes of the graph.
	Documents *Documents
	// Search finds nodes.
	Search *Search
	// SavedQueries are requests of search with names.
	SavedQueries *SavedQueries
	// Prometheus evaluates queries in PromQL.
	Prometheus *Prometheus
	// Rules are files of recording and alerting rules.
	Rules *Rules
	// Alerts are the active alerts of the rules.
	Alerts *Alerts
	// Analyses compute measures of the whole graph.
	Analyses *Analyses
	// Webhooks are addresses to which events are sent.
	Webhooks *Webhooks

	t *transport
}

// Option is an option of [New].
type Option func(*transport)

// WithWorkspace sets the id of the workspace. It is required, except for [Client.Account] and the methods of
// Prometheus with a key of one workspace.
func WithWorkspace(id string) Option { return func(t *transport) { t.workspace = id } }

// WithRetry sets how often failed requests are sent again.
func WithRetry(retry Retry) Option { return func(t *transport) { t.retry = retry.withDefaults() } }

// WithTimeout sets the timeout of one attempt, including the time in which the response is read. The default is 45
// seconds. It must be longer than 30 seconds for commands that the server takes long to execute.
func WithTimeout(timeout time.Duration) Option { return func(t *transport) { t.timeout = timeout } }

// WithHTTPClient sets the HTTP client, for example one with certificates or a proxy. It should not have a timeout,
// which would end event streams. Unlike the default client, it may follow redirects.
func WithHTTPClient(client *http.Client) Option { return func(t *transport) { t.http = client } }

// WithUserAgent sets the User-Agent of requests.
func WithUserAgent(agent string) Option { return func(t *transport) { t.userAgent = agent } }

// WithKeySource sets a function that returns an API key in place of the key of [New]. It is called before the first
// request, and again when the server refuses the key because it expired or was revoked; that request is then repeated
// once. Calls are not concurrent.
func WithKeySource(source func(ctx context.Context) (string, error)) Option {
	return func(t *transport) { t.key.source = source }
}

// New creates a client. The address is that of the server, such as https://livegraph.example.com. The key is an API
// key, or "" if [WithKeySource] or [Client.SetKey] sets it. New opens no connection.
func New(address, key string, options ...Option) (*Client, error) {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" || (parsed.Scheme != "http" && parsed.Scheme != "https") ||
		parsed.RawQuery != "" || parsed.Fragment != "" || parsed.User != nil {
		return nil, errors.New("the server's address is not an http or https URL without a user, a query and a fragment")
	}
	t := &transport{
		base: strings.TrimRight(address, "/"), key: &keyring{}, retry: Retry{}.withDefaults(), timeout: defaultTimeout,
		userAgent: userAgent,
	}
	for _, option := range options {
		option(t)
	}
	if key != "" {
		if err := t.key.set(key); err != nil {
			return nil, err
		}
	}
	if t.http == nil {
		t.http = &http.Client{
			Transport: http.DefaultTransport.(*http.Transport).Clone(),
			// The key is sent to no other server.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	return withTransport(t), nil
}

func withTransport(t *transport) *Client {
	commands := &Commands{t}
	return &Client{
		Sources: &Sources{t}, Points: &Points{t}, Nodes: &Nodes{t, commands}, Edges: &Edges{t, commands},
		Commands: commands, Changes: &Changes{t}, Documents: &Documents{t}, Search: &Search{t},
		Prometheus: &Prometheus{t}, Rules: &Rules{t}, Alerts: &Alerts{t}, Webhooks: &Webhooks{t},
		Analyses: &Analyses{t}, SavedQueries: &SavedQueries{t}, t: t,
	}
}

// FromEnvironment creates a client with LIVEGRAPH_URL, LIVEGRAPH_API_KEY and LIVEGRAPH_WORKSPACE_ID of the
// environment.
func FromEnvironment(options ...Option) (*Client, error) {
	values := map[string]string{"LIVEGRAPH_URL": "", "LIVEGRAPH_API_KEY": "", "LIVEGRAPH_WORKSPACE_ID": ""}
	for name := range values {
		if values[name] = os.Getenv(name); values[name] == "" {
			return nil, fmt.Errorf("the environment variable %s is not set", name)
		}
	}
	options = append([]Option{WithWorkspace(values["LIVEGRAPH_WORKSPACE_ID"])}, options...)
	return New(values["LIVEGRAPH_URL"], values["LIVEGRAPH_API_KEY"], options...)
}

// SetKey replaces the API key of all later requests, also of clients that WithRetry returned.
func (c *Client) SetKey(key string) error { return c.t.key.set(key) }

// WithRetry returns a client that shares the key and the connections of c and has another retry policy.
func (c *Client) WithRetry(retry Retry) *Client {
	other := *c.t
	other.retry = retry.withDefaults()
	return withTransport(&other)
}

// CloseIdleConnections closes the connections that no request uses.
func (c *Client) CloseIdleConnections() { c.t.http.CloseIdleConnections() }

// String returns the address and the workspace, without the key.
func (c *Client) String() string {
	return fmt.Sprintf("livegraph.Client(%s, workspace %s)", c.t.base, c.t.workspace)
}

// Account returns the key of the client, its scopes and its workspaces with their limits.
func (c *Client) Account(ctx context.Context) (*Account, error) {
	return fetch[*Account](ctx, c.t, me.request())
}

// GraphCounts returns the numbers of nodes and edges by type, for at most limit types of each kind, 1 to 100. 0 is the
// default, 50. The numbers that the scopes of the key do not permit are nil.
func (c *Client) GraphCounts(ctx context.Context, limit int) (*GraphCounts, error) {
	q := url.Values{}
	setNumber(q, "limit", limit)
	return fetch[*GraphCounts](ctx, c.t, getCounts.withQuery(q))
}

// noSource is the id of a source that does not exist. A query of it returns nothing, quickly.
const noSource = "00000000-0000-0000-0000-000000000000"

// WaitVisible waits until queries see the points of these ingests, by their checkpoints. It returns the number of
// records that could not be stored and became dead letters, whose points are not visible. The wait for each
// checkpoint ends with [ErrUnavailable] after the total time of the client's retries.
func (c *Client) WaitVisible(ctx context.Context, checkpoints ...string) (deadLetters int, err error) {
	for _, checkpoint := range checkpoints {
		r := queryPoints.request()
		r.Query = url.Values{"checkpoint": {checkpoint}, "sourceId": {noSource}, "limit": {"1"}}
		r.waits = true
		response, err := c.t.send(ctx, r)
		if err != nil {
			return deadLetters, err
		}
		meta, err := open(r, response, &[]PointRows{})
		if err != nil {
			return deadLetters, err
		}
		if meta != nil {
			deadLetters += meta.DeadLettered
		}
	}
	return deadLetters, nil
}

// Do sends a request to any route of the API and returns the response, which has a status of success. It is for
// routes without a method, and for formats other than JSON. Retries and errors are those of the other methods. A
// response of more than 256 MiB is an error.
func (c *Client) Do(ctx context.Context, request *Request) (*Response, error) {
	return c.t.send(ctx, request)
}
