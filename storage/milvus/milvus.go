// Package milvus is the store of embeddings: its connection, so far. It keeps the
// client of Milvus to itself, so that another one is this package's work alone.
package milvus

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/milvus-io/milvus-sdk-go/v2/client"
	"google.golang.org/grpc"

	"github.com/livegraph/livegraph/internal/certs"
	"github.com/livegraph/livegraph/internal/fault"
)

const (
	dialTimeout = 3 * time.Second
	openTimeout = 10 * time.Second // of the client's first connection
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
	TLS *certs.Client
}

// DB is a connection to one database of Milvus.
type DB struct{ client client.Client }

// Open connects to Milvus and checks that it answers and takes the token. The caller
// closes the DB.
func Open(ctx context.Context, o Options) (*DB, error) {
	at, err := o.parse()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	// The client tries a server it cannot reach or believe until the time is over, and
	// then tells nothing but that.
	if err := at.reach(ctx); err != nil {
		return nil, fmt.Errorf("connecting to Milvus: %w", err)
	}
	c, err := client.NewClient(ctx, client.Config{
		Address: at.host, DBName: at.database, APIKey: o.Token, DialOptions: at.dialOptions(),
	})
	if err != nil {
		return nil, fmt.Errorf("connecting to Milvus: %w", withoutToken(err, o.Token))
	}
	db := &DB{c}
	if err := db.Ping(ctx); err != nil {
		_ = db.Close()
		return nil, withoutToken(err, o.Token)
	}
	return db, nil
}

// place is an address, read.
type place struct {
	host, database string
	files          *certs.Client // nil: no TLS
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
			at.files = certs.System()
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

func (p place) dialOptions() []grpc.DialOption {
	//nolint:staticcheck // the SDK dials by DialContext, which alone can say why a connection failed
	options := append([]grpc.DialOption{grpc.WithReturnConnectionError()}, client.DefaultGrpcOpts...)
	if p.files != nil {
		options = append(options, grpc.WithTransportCredentials(&credential{p.files}))
	}
	return options
}

// Ping asks the server for a sign of life. The client would try for 20 s.
func (db *DB) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	_, err := db.ServerVersion(ctx)
	return err
}

// ServerVersion gives the server's version, such as "v2.6.4".
func (db *DB) ServerVersion(ctx context.Context) (string, error) {
	version, err := db.client.GetVersion(ctx)
	if err != nil {
		return "", fmt.Errorf("asking Milvus for its version: %w", err)
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
