package milvus_test

import (
	"context"
	"net"
	"testing"

	"github.com/milvus-io/milvus-sdk-go/v2/client"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/tlsconfig"
	"github.com/livegraph/livegraph/storage/milvus"
	"github.com/livegraph/livegraph/test/testenv"
)

func TestTheServerReturnsItsVersion(t *testing.T) {
	for _, scheme := range []string{"", "http://"} {
		db, err := milvus.Open(t.Context(), milvus.Options{Address: scheme + testenv.Milvus(t)})
		require.NoError(t, err)
		require.NoError(t, db.Ping(t.Context()))
		version, err := db.ServerVersion(t.Context())
		require.NoError(t, err)
		require.NotEmpty(t, version)
		require.NoError(t, db.Close())
	}
}

func TestTheAddressNamesTheDatabase(t *testing.T) {
	address := testenv.Milvus(t)
	admin, err := client.NewClient(t.Context(), client.Config{Address: address})
	require.NoError(t, err)
	t.Cleanup(func() { _ = admin.Close() })
	require.NoError(t, admin.CreateDatabase(t.Context(), "vectors"))
	t.Cleanup(func() { require.NoError(t, admin.DropDatabase(context.Background(), "vectors")) })
	db := open(t, address+"/vectors")
	name := newCollection(t, db, 2)
	exists, err := open(t, address).HasCollection(t.Context(), name)
	require.NoError(t, err)
	require.False(t, exists, "the collection is in another database")
	if testenv.MilvusStandalone() { // milvus-lite returns no error
		_, err = milvus.Open(t.Context(), milvus.Options{Address: address + "/no_such_database"})
		require.ErrorContains(t, err, "database not found")
	}
}

func TestConnectionsByTLSAreVerified(t *testing.T) {
	engine := testenv.Milvus(t)
	testenv.RequireTLS(t, testenv.TLSTarget{
		Engine: engine, Secrets: []string{"s3cret"},
		Open: func(t *testing.T, front *testenv.TLSProxy, f tlsconfig.Files) (func() error, error) {
			files, err := tlsconfig.NewClient(f)
			require.NoError(t, err)
			db, err := milvus.Open(t.Context(), milvus.Options{
				Address: "https://" + front.Address, Token: "root:s3cret", TLS: files,
			})
			if err != nil {
				return nil, err
			}
			t.Cleanup(func() { _ = db.Close() })
			return func() error { return db.Ping(t.Context()) }, nil
		},
	})
}

// The embedded edition requires no token, so the test uses a server that records the token and refuses
// every call as Milvus does.
func TestTheTokenIsSentAndNotShown(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	sent := make(chan []string, 100)
	server := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		head, _ := metadata.FromIncomingContext(stream.Context())
		sent <- head.Get("authorization")
		return status.Error(codes.Unauthenticated, "auth check failure, please check api key is correct")
	}))
	defer server.Stop()
	go func() { _ = server.Serve(listener) }()

	_, err = milvus.Open(t.Context(), milvus.Options{Address: listener.Addr().String(), Token: "root:s3cret"})
	require.ErrorContains(t, err, "auth check failure")
	require.NotContains(t, err.Error(), "s3cret")
	require.Equal(t, []string{"cm9vdDpzM2NyZXQ="}, <-sent, "base64 of user:password")
}

func TestAnInvalidAddressIsAnInvalidSetting(t *testing.T) {
	for _, address := range []string{"", "tcp://h:1", "https://", "%zz"} {
		_, err := milvus.Open(t.Context(), milvus.Options{Address: address})
		require.True(t, fault.Is(err, fault.Invalid), "%q: %v", address, err)
	}
}
