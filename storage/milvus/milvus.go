// Package milvus is the store of embeddings: collections of vectors, one for each
// index, that the consumer of embeddings writes and searches read.
//
// An [Entry] is the vector of one chunk of a node's text. Its primary key is made of
// its workspace, node and chunk, so that a search needs no field of the answer but
// the key, a repeated write replaces what it wrote, and no workspace can write over
// another's. Everything is safe to repeat, and is repeated here a few times when the
// server is unavailable for a moment; every call ends within its own bound.
//
// The package uses Milvus's SDK over one connection, on milvus-lite as on Milvus
// standalone, and keeps to what both understand alike. What differs between them is
// told where it is dealt with; what of the SDK's ways is changed, in connection.go.
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
	dialTimeout = 3 * time.Second
	openTimeout = 10 * time.Second // of the first connection
	pingTimeout = 3 * time.Second
	frameWait   = time.Second // for HTTP/2's first frame, which comes at once
)

// Options say how to reach Milvus.
type Options struct {
	// Address is host:port, or https://host:port for TLS. The path, if there is one,
	// is the database.
	Address string
	// Token is how to log in, user:password or an API key; empty: not at all.
	Token string
	// TLS verifies a server that is reached by TLS; nil: as the system does.
	TLS *tlsconfig.Client
}

// DB is a connection to one database of Milvus. It connects again by itself.
type DB struct {
	client  *client.GrpcClient
	token   string
	metrics *Metrics
	tracer  tracing.Tracer

	mu      sync.Mutex
	known   map[string]collection    // by name; no aliases
	writers map[string]chan struct{} // one writer a collection, see turn
}

// Option changes how a DB is opened.
type Option func(*DB)

// Measured has the DB measure into m.
func Measured(m *Metrics) Option { return func(db *DB) { db.metrics = m } }

// Open connects to Milvus and checks that it answers and takes the token. The caller
// closes the DB.
func Open(ctx context.Context, o Options, changes ...Option) (*DB, error) {
	at, err := o.parse()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	// gRPC tries a server that it cannot believe until the time is over.
	if err := at.reach(ctx); err != nil {
		return nil, fmt.Errorf("connecting to Milvus: %w", err)
	}
	db, err := New(o, changes...)
	if err != nil {
		return nil, err
	}
	if err := db.greet(ctx); err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("connecting to Milvus: %w", withoutToken(err, o.Token))
	}
	return db, nil
}

// greet reports who we are, which servers that know databases answer by whether ours is
// there. Older ones do not know the call.
func (db *DB) greet(ctx context.Context) error {
	_, err := db.client.Service.Connect(ctx, &milvuspb.ConnectRequest{
		ClientInfo: &commonpb.ClientInfo{SdkType: "Livegraph"},
	})
	if status.Code(err) == codes.Unimplemented {
		return db.Ping(ctx)
	}
	return err
}

// New creates a DB that connects when it is first used: for who can do without Milvus
// for a while. The caller closes it.
func New(o Options, changes ...Option) (*DB, error) {
	at, err := o.parse()
	if err != nil {
		return nil, err
	}
	c, err := at.connect(o.Token)
	if err != nil {
		return nil, fault.New(fault.Invalid, "the Milvus address cannot be used")
	}
	db := &DB{
		client: c, token: o.Token,
		known: map[string]collection{}, writers: map[string]chan struct{}{},
	}
	for _, change := range changes {
		change(db)
	}
	if db.metrics == nil {
		db.metrics = NewMetrics(nil)
	}
	return db, nil
}

// place is an address, read.
type place struct {
	host, database string
	files          *tlsconfig.Client // nil: no TLS
}

func (o Options) parse() (place, error) {
	text := o.Address
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return place{}, fault.New(fault.Invalid, "the Milvus address cannot be read")
	}
	at := place{host: u.Host, database: strings.Trim(u.Path, "/")}
	if u.Scheme == "https" {
		if at.files = o.TLS; at.files == nil {
			at.files = tlsconfig.System()
		}
	}
	return at, nil
}

// reach tries the connection alone. A server that does not take our certificate says
// so after the handshake, in place of HTTP/2's first frame.
func (p place) reach(ctx context.Context) error {
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
	if err := conn.SetReadDeadline(time.Now().Add(frameWait)); err != nil {
		return err
	}
	var refusal *net.OpError
	if _, err := conn.Read(make([]byte, 1)); errors.As(err, &refusal) && refusal.Op == "remote error" {
		return err
	}
	return nil
}

// Ping asks the server for a sign of life.
func (db *DB) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	_, err := db.ServerVersion(ctx)
	return err
}

// ServerVersion returns the server's version, such as "v2.6.4". It asks once.
func (db *DB) ServerVersion(ctx context.Context) (string, error) {
	version, err := db.client.GetVersion(ctx)
	if err != nil {
		return "", fmt.Errorf("asking Milvus for its version: %w", withoutToken(err, db.token))
	}
	return version, nil
}

// Close closes the connection.
func (db *DB) Close() error { return db.client.Close() }

// withoutToken makes sure that an error's text does not hold the token.
func withoutToken(err error, token string) error {
	if token == "" || !strings.Contains(err.Error(), token) {
		return err
	}
	return errors.New(strings.ReplaceAll(err.Error(), token, "********"))
}
