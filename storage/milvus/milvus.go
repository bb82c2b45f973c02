// Package milvus stores embeddings in Milvus. There is one collection of vectors per index, which the
// embeddings consumer writes and searches read.
//
// An [Entry] is the vector of one chunk of a node's text. Its primary key consists of its workspace,
// node and chunk. A search therefore needs only the key of each hit, a repeated write replaces the
// earlier one, and no workspace can overwrite entries of another. All operations are idempotent and
// are retried a few times after transient errors; each has a timeout.
//
// The package uses Milvus's SDK over one connection. It supports milvus-lite and Milvus standalone and
// uses only features that both have; comments describe where they differ. See connection.go for the
// changes to the SDK's behaviour.
package milvus

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/milvuspb"
	"github.com/milvus-io/milvus-sdk-go/v2/client"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/tlsconfig"
	"github.com/livegraph/livegraph/internal/platform/tracing"
)

const (
	dialTimeout       = 3 * time.Second
	openTimeout       = 10 * time.Second // of Open
	pingTimeout       = 3 * time.Second
	firstFrameTimeout = time.Second // of HTTP/2's first frame, which servers send at once
)

// Options configures the connection to Milvus.
type Options struct {
	// Address is host:port, or https://host:port for TLS. The path is the database, if present.
	Address string
	// Token is user:password or an API key; empty: no authentication.
	Token string
	// TLS verifies the server if TLS is used; nil: with the system's certificates.
	TLS *tlsconfig.Client
}

// DB is a connection to one database of Milvus. It reconnects automatically.
type DB struct {
	client  *client.GrpcClient
	token   string
	metrics *Metrics
	tracer  tracing.Tracer

	mu      sync.Mutex
	cached  map[string]collection    // by collection name, not by alias
	writers map[string]chan struct{} // write lock of each collection, see lock
}

// Option configures a DB.
type Option func(*DB)

// WithMetrics makes the DB record metrics in m.
func WithMetrics(m *Metrics) Option { return func(db *DB) { db.metrics = m } }

// Open connects to Milvus and checks that it responds and accepts the token. The caller must close
// the DB.
func Open(ctx context.Context, o Options, options ...Option) (*DB, error) {
	e, err := o.parse()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	// gRPC retries until the timeout if the server's certificate is not valid.
	if err := e.checkConnection(ctx); err != nil {
		return nil, fmt.Errorf("connecting to Milvus: %w", err)
	}
	db, err := New(o, options...)
	if err != nil {
		return nil, err
	}
	if err := db.handshake(ctx); err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("connecting to Milvus: %w", redactToken(err, o.Token))
	}
	return db, nil
}

// handshake sends Connect. Servers with databases return an error if the database does not exist.
// Older servers do not implement the call.
func (db *DB) handshake(ctx context.Context) error {
	_, err := db.client.Service.Connect(ctx, &milvuspb.ConnectRequest{
		ClientInfo: &commonpb.ClientInfo{SdkType: "Livegraph"},
	})
	if status.Code(err) == codes.Unimplemented {
		return db.Ping(ctx)
	}
	return err
}

// New creates a DB that connects on first use, for callers that can start without Milvus. The caller
// must close it.
func New(o Options, options ...Option) (*DB, error) {
	e, err := o.parse()
	if err != nil {
		return nil, err
	}
	c, err := e.connect(o.Token)
	if err != nil {
		return nil, fault.New(fault.Invalid, "the Milvus address cannot be used")
	}
	db := &DB{
		client: c, token: o.Token,
		cached: map[string]collection{}, writers: map[string]chan struct{}{},
	}
	for _, option := range options {
		option(db)
	}
	if db.metrics == nil {
		db.metrics = NewMetrics(nil)
	}
	return db, nil
}

// endpoint is a parsed address.
type endpoint struct {
	host, database string
	files          *tlsconfig.Client // nil: no TLS
}

func (o Options) parse() (endpoint, error) {
	text := o.Address
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return endpoint{}, fault.New(fault.Invalid, "the Milvus address is not valid")
	}
	e := endpoint{host: u.Host, database: strings.Trim(u.Path, "/")}
	if u.Scheme == "https" {
		if e.files = o.TLS; e.files == nil {
			e.files = tlsconfig.System()
		}
	}
	return e, nil
}

// checkConnection opens and closes a connection. A server that does not accept the client's
// certificate sends an alert after the handshake instead of HTTP/2's first frame.
func (p endpoint) checkConnection(ctx context.Context) error {
	if p.files == nil {
		conn, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", p.host)
		if err != nil {
			return err
		}
		return conn.Close()
	}
	conn, err := p.files.Dial(ctx, p.host, dialTimeout, "h2")
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetReadDeadline(time.Now().Add(firstFrameTimeout)); err != nil {
		return err
	}
	var alert *net.OpError
	if _, err := conn.Read(make([]byte, 1)); errors.As(err, &alert) && alert.Op == "remote error" {
		return err
	}
	return nil
}

// Ping returns an error if the server does not respond.
func (db *DB) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	_, err := db.ServerVersion(ctx)
	return err
}

// ServerVersion returns the server's version, such as "v2.6.4". It does not retry.
func (db *DB) ServerVersion(ctx context.Context) (string, error) {
	version, err := db.client.GetVersion(ctx)
	if err != nil {
		return "", fmt.Errorf("reading the version of Milvus: %w", redactToken(err, db.token))
	}
	return version, nil
}

// Close closes the connection.
func (db *DB) Close() error { return db.client.Close() }

// redactToken replaces the token in an error's text.
func redactToken(err error, token string) error {
	if token == "" || !strings.Contains(err.Error(), token) {
		return err
	}
	return errors.New(strings.ReplaceAll(err.Error(), token, "********"))
}
