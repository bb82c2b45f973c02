package milvus

import (
	"context"
	"fmt"
	"math"
	"time"

	grpc_retry "github.com/grpc-ecosystem/go-grpc-middleware/retry"
	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-sdk-go/v2/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
)

// Settings of the connection.
const (
	// The client reconnects to a server that is available again after at most
	// maxReconnectDelay.
	minReconnectDelay = 100 * time.Millisecond
	maxReconnectDelay = 2 * time.Second
	// Keepalive pings are sent only during calls: milvus-lite treats pings without a call as an
	// attack.
	keepaliveInterval = 10 * time.Second
	keepaliveTimeout  = 5 * time.Second
)

// connect creates a client of the SDK that connects on first use. It changes the SDK's behaviour: by
// default it waits until the server is available, tries a call six times over 20 s (DB.do has its
// own limits), and returns an error's text without its code.
func (p endpoint) connect(token string) (*client.GrpcClient, error) {
	sdkClient, err := client.NewClient(context.Background(), client.Config{
		Address: p.host, DBName: p.database, APIKey: token, // user:password is sent in the same way
		DisableConn:    true, // see DB.handshake
		RetryRateLimit: &client.RetryRateLimitOption{},
		DialOptions:    p.dialOptions(),
	})
	if err != nil {
		return nil, err
	}
	c, ok := sdkClient.(*client.GrpcClient)
	if !ok {
		return nil, fmt.Errorf("unexpected SDK client of type %T", sdkClient)
	}
	return c, nil
}

func (p endpoint) dialOptions() []grpc.DialOption {
	options := []grpc.DialOption{
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{
				BaseDelay: minReconnectDelay, Multiplier: 1.6, Jitter: 0.2, MaxDelay: maxReconnectDelay,
			},
			MinConnectTimeout: dialTimeout,
		}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveInterval, Timeout: keepaliveTimeout}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32), grpc_retry.Disable()),
		grpc.WithUnaryInterceptor(statusInterceptor),
	}
	if p.files != nil {
		options = append(options, grpc.WithTransportCredentials(credentials.TransportCredentials(&credential{p.files})))
	}
	return options
}

// statusInterceptor returns the error in a response's status, before the SDK handles the response. The
// SDK reads only the older of two status fields and drops the error code.
func statusInterceptor(
	ctx context.Context, method string, request, response any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker,
	options ...grpc.CallOption,
) error {
	if err := invoke(ctx, method, request, response, conn, options...); err != nil {
		return err
	}
	switch a := response.(type) {
	case *commonpb.Status:
		return statusError(a)
	case interface{ GetStatus() *commonpb.Status }:
		return statusError(a.GetStatus())
	}
	return nil
}
