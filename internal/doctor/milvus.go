package doctor

import (
	"context"

	"github.com/milvus-io/milvus-sdk-go/v2/client"
)

func checkMilvus(ctx context.Context, t Target) []Result {
	if t.MilvusAddress == "" {
		return missing("milvus", "LIVEGRAPH_MILVUS_ADDRESS")
	}
	advice := reachAdvice("LIVEGRAPH_MILVUS_ADDRESS", "milvus.log")
	if err := dial(ctx, t.MilvusAddress); err != nil {
		return failed("milvus", t.MilvusAddress, err, advice)
	}
	c, err := client.NewClient(ctx, client.Config{Address: t.MilvusAddress})
	if err != nil {
		return failed("milvus", t.MilvusAddress, err, advice)
	}
	defer c.Close()
	r := Result{Name: "milvus", Status: OK, Address: t.MilvusAddress, Detail: "answers"}
	r.LatencyMS, err = latency(func() (err error) {
		r.Version, err = c.GetVersion(ctx)
		return err
	})
	if err != nil {
		return failed("milvus", t.MilvusAddress, err, advice)
	}
	return []Result{r}
}
