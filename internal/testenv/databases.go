package testenv

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
)

// redisDatabases is how many databases the embedded Valkey has.
const redisDatabases = 1024

func execPostgres(t testing.TB, address, statement string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), dropTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		t.Fatalf("testenv: postgres: %v", err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, statement); err != nil {
		t.Fatalf("testenv: postgres: %s: %v", statement, err)
	}
}

func execClickHouse(t testing.TB, address, statement string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), dropTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, withPath(t, address, ""), strings.NewReader(statement))
	if err != nil {
		t.Fatalf("testenv: clickhouse: %v", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("testenv: clickhouse: %s: %v", statement, err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(io.LimitReader(resp.Body, 4096)); resp.StatusCode != http.StatusOK {
		t.Fatalf("testenv: clickhouse: %s: %s", statement, body)
	}
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
