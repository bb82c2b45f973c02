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

// connect makes a client of the SDK that dials when it is used. Of the SDK's ways are
// changed: it would wait for the server to be there, try a call six times over 20 s
// (DB.do has its own bound), and give an error's text without its code.
func (p place) connect(token string) (*client.GrpcClient, error) {
	made, err := client.NewClient(context.Background(), client.Config{
		Address: p.host, DBName: p.database, APIKey: token, // a user and a password are sent alike
		DisableConn:    true, // see DB.greet
		RetryRateLimit: &client.RetryRateLimitOption{},
		DialOptions:    p.dialling(),
	})
	if err != nil {
		return nil, err
	}
	c, ok := made.(*client.GrpcClient)
	if !ok {
		return nil, fmt.Errorf("the SDK gave a %T", made)
	}
	return c, nil
}

func (p place) dialling() []grpc.DialOption {
	options := []grpc.DialOption{
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: reconnectFirst, Multiplier: 1.6, Jitter: 0.2, MaxDelay: reconnectMost},
			MinConnectTimeout: dialTimeout,
		}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: aliveEvery, Timeout: aliveWait}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32), grpc_retry.Disable()),
		grpc.WithUnaryInterceptor(refusals),
	}
	if p.files != nil {
		options = append(options, grpc.WithTransportCredentials(credentials.TransportCredentials(&credential{p.files})))
	}
	return options
}

// refusals makes an error of an answer that tells of one, before the SDK, which looks
// at the older of two fields alone and drops its code.
func refusals(
	ctx context.Context, method string, request, answer any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker,
	options ...grpc.CallOption,
) error {
	if err := invoke(ctx, method, request, answer, conn, options...); err != nil {
		return err
	}
	switch a := answer.(type) {
	case *commonpb.Status:
		return refused(a)
	case interface{ GetStatus() *commonpb.Status }:
		return refused(a.GetStatus())
	}
	return nil
}
