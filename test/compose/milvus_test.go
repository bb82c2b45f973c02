package compose

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMilvusIsOfTheLineThatItsClientIsMadeFor holds the image to the client's
// version: Milvus's table pairs them by their first two numbers.
func TestMilvusIsOfTheLineThatItsClientIsMadeFor(t *testing.T) {
	payload, err := os.ReadFile(root + "/go.mod")
	require.NoError(t, err)
	client := regexp.MustCompile(`milvus-io/milvus-sdk-go/v2 v(\d+\.\d+)\.`).FindStringSubmatch(string(payload))
	require.NotNil(t, client, "another client: choose the server again")
	milvus := stack(t).Services["milvus"]
	require.Regexp(t, `^v`+regexp.QuoteMeta(client[1])+`\.\d+$`, tagOf(milvus.Image))

	settings := environment(milvus)
	require.Equal(
		t, "rocksmq", settings["MQ_TYPE"], "2.4 has no woodpecker, and Pulsar or Kafka would be a further service",
	)
	require.Equal(t, "etcd:2379", settings["ETCD_ENDPOINTS"])
	require.Equal(t, "minio:9000", settings["MINIO_ADDRESS"])
	require.Regexp(t, `^v3\.5\.`, tagOf(stack(t).Services["etcd"].Image), "Milvus 2.4 is made for etcd 3.5")
}
