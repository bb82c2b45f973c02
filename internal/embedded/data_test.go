package embedded_test

import (
	"context"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/jackc/pgx/v5"
	"github.com/milvus-io/milvus-sdk-go/v2/client"
	"github.com/milvus-io/milvus-sdk-go/v2/entity"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/test/kafkatest"
)

// store writes and counts numbers in one engine. Each number is acknowledged before write
// returns.
type store struct {
	name  string
	write func(ctx context.Context, address embedded.Addresses, n int64) error
	count func(ctx context.Context, address embedded.Addresses) (int64, error)
}

var stores = []store{
	{"postgres", writePostgres, countPostgres},
	{"clickhouse", writeClickHouse, countClickHouse},
	{"valkey", writeRedis, countRedis},
	{"milvus", writeMilvus, countMilvus},
	{"kafka", writeKafka, countKafka},
}

func storeOf(name string) store {
	for _, s := range stores {
		if s.name == name {
			return s
		}
	}
	panic(name)
}

// waitTimeout is the maximum time for a restart of an engine.
const waitTimeout = time.Minute

func (s store) mustWrite(t *testing.T, a embedded.Addresses, n int64) {
	t.Helper()
	require.NoError(t, s.retried(t, func(ctx context.Context) error { return s.write(ctx, a, n) }), s.name)
}

func (s store) mustHave(t *testing.T, a embedded.Addresses, want int64) {
	t.Helper()
	var got int64
	require.NoError(t, s.retried(t, func(ctx context.Context) (err error) {
		got, err = s.count(ctx, a)
		return err
	}), s.name)
	require.Equal(t, want, got, s.name)
}

func (s store) retried(t *testing.T, do func(context.Context) error) error {
	for deadline := time.Now().Add(waitTimeout); ; time.Sleep(50 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		err := do(ctx)
		cancel()
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

func withPostgres(ctx context.Context, a embedded.Addresses, do func(*pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, a.PostgresURL)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	return do(conn)
}

func writePostgres(ctx context.Context, a embedded.Addresses, n int64) error {
	return withPostgres(ctx, a, func(conn *pgx.Conn) error {
		if _, err := conn.Exec(ctx, `CREATE TABLE IF NOT EXISTS kept (n bigint PRIMARY KEY)`); err != nil {
			return err
		}
		_, err := conn.Exec(ctx, `INSERT INTO kept VALUES ($1) ON CONFLICT DO NOTHING`, n)
		return err
	})
}

func countPostgres(ctx context.Context, a embedded.Addresses) (n int64, err error) {
	err = withPostgres(ctx, a, func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, `SELECT count(*) FROM kept`).Scan(&n)
	})
	return n, err
}

func withClickHouse(a embedded.Addresses, do func(clickhouse.Conn) error) error {
	options, err := clickhouse.ParseDSN(a.ClickHouseURL)
	if err != nil {
		return err
	}
	conn, err := clickhouse.Open(options)
	if err != nil {
		return err
	}
	defer conn.Close()
	return do(conn)
}

func writeClickHouse(ctx context.Context, a embedded.Addresses, n int64) error {
	return withClickHouse(a, func(conn clickhouse.Conn) error {
		if err := conn.Exec(
			ctx, `CREATE TABLE IF NOT EXISTS kept (n Int64) ENGINE = ReplacingMergeTree ORDER BY n`,
		); err != nil {
			return err
		}
		batch, err := conn.PrepareBatch(ctx, `INSERT INTO kept`)
		if err != nil {
			return err
		}
		if err := batch.Column(0).Append([]int64{n}); err != nil {
			return err
		}
		return batch.Send()
	})
}

func countClickHouse(ctx context.Context, a embedded.Addresses) (int64, error) {
	var n uint64
	err := withClickHouse(a, func(conn clickhouse.Conn) error {
		return conn.QueryRow(ctx, `SELECT uniqExact(n) FROM kept`).Scan(&n)
	})
	return int64(n), err
}

func withRedis(a embedded.Addresses, do func(*redis.Client) error) error {
	options, err := redis.ParseURL(a.RedisURL)
	if err != nil {
		return err
	}
	c := redis.NewClient(options)
	defer c.Close()
	return do(c)
}

func writeRedis(ctx context.Context, a embedded.Addresses, n int64) error {
	return withRedis(a, func(c *redis.Client) error { return c.SAdd(ctx, "kept", n).Err() })
}

func countRedis(ctx context.Context, a embedded.Addresses) (n int64, err error) {
	err = withRedis(a, func(c *redis.Client) error {
		n, err = c.SCard(ctx, "kept").Result()
		return err
	})
	return n, err
}

func withMilvus(ctx context.Context, a embedded.Addresses, do func(client.Client) error) error {
	c, err := client.NewClient(ctx, client.Config{Address: a.MilvusAddress})
	if err != nil {
		return err
	}
	defer c.Close()
	return do(c)
}

func writeMilvus(ctx context.Context, a embedded.Addresses, n int64) error {
	return withMilvus(ctx, a, func(c client.Client) error {
		exists, err := c.HasCollection(ctx, "kept")
		if err != nil {
			return err
		}
		if !exists {
			schema := entity.NewSchema().WithName("kept").
				WithField(entity.NewField().WithName("id").WithDataType(entity.FieldTypeInt64).WithIsPrimaryKey(true)).
				WithField(entity.NewField().WithName("v").WithDataType(entity.FieldTypeFloatVector).WithDim(4))
			if err := c.CreateCollection(ctx, schema, 1); err != nil {
				return err
			}
		}
		_, err = c.Upsert(ctx, "kept", "", entity.NewColumnInt64("id", []int64{n}),
			entity.NewColumnFloatVector("v", 4, [][]float32{{1, 2, 3, float32(n)}}))
		return err
	})
}

func countMilvus(ctx context.Context, a embedded.Addresses) (n int64, err error) {
	err = withMilvus(ctx, a, func(c client.Client) error {
		if described, err := c.DescribeIndex(ctx, "kept", "v"); err != nil || len(described) == 0 {
			index, err := entity.NewIndexFlat(entity.COSINE)
			if err != nil {
				return err
			}
			if err := c.CreateIndex(ctx, "kept", "v", index, false); err != nil {
				return err
			}
		}
		if err := c.LoadCollection(ctx, "kept", false); err != nil {
			return err
		}
		rows, err := c.Query(ctx, "kept", nil, "id >= 0", []string{"id"})
		if err != nil {
			return err
		}
		n = int64(rows.GetColumn("id").Len())
		return nil
	})
	return n, err
}

func withKafka(a embedded.Addresses, do func(*kgo.Client) error) error {
	c, err := kgo.NewClient(kafkatest.BrokerAt(a.KafkaBrokers, a.KafkaSecurity).Opts(kgo.DefaultProduceTopic("kept"))...)
	if err != nil {
		return err
	}
	defer c.Close()
	return do(c)
}

func writeKafka(ctx context.Context, a embedded.Addresses, n int64) error {
	return withKafka(a, func(c *kgo.Client) error {
		admin := kadm.NewClient(c)
		topics, err := admin.ListTopics(ctx, "kept")
		if err != nil {
			return err
		}
		if !topics.Has("kept") {
			if _, err := admin.CreateTopic(ctx, 1, -1, nil, "kept"); err != nil {
				return err
			}
		}
		return c.ProduceSync(ctx, &kgo.Record{Value: []byte{byte(n)}}).FirstErr()
	})
}

func countKafka(ctx context.Context, a embedded.Addresses) (n int64, err error) {
	err = withKafka(a, func(c *kgo.Client) error {
		ends, err := kadm.NewClient(c).ListEndOffsets(ctx, "kept")
		if err != nil {
			return err
		}
		end, _ := ends.Lookup("kept", 0)
		n = end.Offset
		return end.Err
	})
	return n, err
}
