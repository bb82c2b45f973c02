package milvus

import (
	"context"
	"encoding/base64"
	"math"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
)

// Headers of a call, as Milvus reads them.
const (
	headerToken    = "authorization"
	headerDatabase = "dbname"
)

// Of the connection.
const (
	// A server that came back is noticed after this at the latest.
	reconnectFirst = 100 * time.Millisecond
	reconnectMost  = 2 * time.Second
	// A call under way asks every so often whether the other side still lives. Without
	// a call nothing is sent: milvus-lite takes that for an attack.
	aliveEvery = 10 * time.Second
	aliveWait  = 5 * time.Second
)

// connection makes a connection that is dialled when it is used. Nothing is repeated
// by gRPC itself, see DB.do.
func (p place) connection(token string) (*grpc.ClientConn, error) {
	transport := insecure.NewCredentials()
	if p.files != nil {
		transport = credentials.TransportCredentials(&credential{p.files})
	}
	var head []string
	if token != "" {
		head = append(head, headerToken, base64.StdEncoding.EncodeToString([]byte(token)))
	}
	if p.database != "" {
		head = append(head, headerDatabase, p.database)
	}
	return grpc.NewClient("passthrough:///"+p.host,
		grpc.WithTransportCredentials(transport),
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: reconnectFirst, Multiplier: 1.6, Jitter: 0.2, MaxDelay: reconnectMost},
			MinConnectTimeout: dialTimeout,
		}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: aliveEvery, Timeout: aliveWait}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32)),
		grpc.WithUnaryInterceptor(func(ctx context.Context, method string, request, answer any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
			if len(head) > 0 {
				ctx = metadata.AppendToOutgoingContext(ctx, head...)
			}
			return invoke(ctx, method, request, answer, conn, options...)
		}),
	)
}
