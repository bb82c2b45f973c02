package testenv

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
)

// redisDatabases is the number of databases of the embedded Valkey.
const redisDatabases = 1024

func execPostgres(t testing.TB, address, statement string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), DropTimeout)
	defer cancel()
	if err := runPostgres(ctx, address, statement); err != nil {
		t.Fatalf("testenv: postgres: %s: %v", statement, err)
	}
}

func runPostgres(ctx context.Context, address, statement string) error {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, statement)
	return err
}

func execClickHouse(t testing.TB, address, statement string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), DropTimeout)
	defer cancel()
	postClickHouse(ctx, t, withPath(t, address, ""), statement)
}

// QueryClickHouse runs a statement in a database, http://user:password@host:port/database,
// without using any package under test, and returns the result as tab-separated values.
func QueryClickHouse(t testing.TB, address, statement string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatalf("testenv: clickhouse: %v", err)
	}
	parameters := url.Values{"database": {strings.TrimPrefix(u.Path, "/")}}
	if ClickHouseCluster() != "" {
		parameters.Set("distributed_product_mode", "local") // as in the product
	}
	u.RawQuery = parameters.Encode()
	u.Path = "/"
	return strings.TrimSpace(postClickHouse(context.Background(), t, u.String(), statement))
}

func postClickHouse(ctx context.Context, t testing.TB, target, statement string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, strings.NewReader(statement))
	if err != nil {
		t.Fatalf("testenv: clickhouse: %v", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("testenv: clickhouse: %s: %v", statement, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("testenv: clickhouse: %s: %v %s", statement, err, body)
	}
	return string(body)
}

func flushRedis(t testing.TB, address string) {
	t.Helper()
	options, err := redis.ParseURL(address)
	if err != nil {
		t.Fatalf("testenv: redis: %v", err)
	}
	client := redis.NewClient(options)
	defer client.Close()
	if err := client.FlushDB(context.Background()).Err(); err != nil {
		t.Fatalf("testenv: redis: %v", err)
	}
}
