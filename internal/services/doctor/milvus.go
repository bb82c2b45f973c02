package doctor

import (
	"context"
	"strings"

	"github.com/livegraph/livegraph/storage/milvus"
)

const milvusVariable = "LIVEGRAPH_MILVUS_ADDRESS"

func checkMilvus(ctx context.Context, t Target) []Result {
	if t.MilvusAddress == "" {
		return missing("milvus", milvusVariable)
	}
	files, err := t.MilvusTLS.Client("milvus-tls")
	if err != nil {
		return failed("milvus", t.MilvusAddress, err, filesAdvice)
	}
	db, err := milvus.Open(ctx, milvus.Options{Address: t.MilvusAddress, Token: t.MilvusToken, TLS: files})
	if err != nil {
		return failed("milvus", t.MilvusAddress, err, milvusAdvice(err))
	}
	defer func() { _ = db.Close() }()
	r := Result{Name: "milvus", Status: OK, Address: t.MilvusAddress, Detail: "answers"}
	r.LatencyMS, err = medianLatency(func() (err error) {
		r.Version, err = db.ServerVersion(ctx)
		return err
	})
	if err != nil {
		return failed("milvus", t.MilvusAddress, err, milvusAdvice(err))
	}
	return []Result{r}
}

// milvusAdvice returns the advice for an error.
func milvusAdvice(err error) string {
	if advice := tlsSettings(milvusVariable).Advice(err); advice != "" {
		return advice
	}
	switch text := strings.ToLower(err.Error()); {
	case strings.Contains(text, "unauthenticated"), strings.Contains(text, "auth check failure"),
		strings.Contains(text, "password"):
		return "correct LIVEGRAPH_MILVUS_TOKEN: user:password, or an API key"
	case strings.Contains(text, "database not found"):
		return "create the database that " + milvusVariable + " names"
	}
	return reachAdvice(milvusVariable, logFile("milvus"))
}
