package embedded_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/test/testenv"
)

// The files that buffer the data of INSERTs are reused; see the check.
func TestFilesOfInsertsAreUsedAgain(t *testing.T) {
	checkInPython(t, "clickhouse", "testdata/spool_check.py")
}

// Each INSERT stores exactly its own rows, regardless of the previous content of the reused file:
// INSERTs of all sizes into tables with different columns, four at a time.
func TestClickHouseStoresOfEachInsertItsOwnRows(t *testing.T) {
	conn := open(t, testenv.ClickHouse(t))
	group, ctx := errgroup.WithContext(t.Context())
	for writer := range 4 {
		kind := []string{"UInt64", "String"}[writer%2]
		table := fmt.Sprintf("own_%d", writer)
		require.NoError(t, conn.Exec(ctx, fmt.Sprintf(
			"CREATE TABLE %s (writer UInt8, id UInt64, value %s) ENGINE = MergeTree ORDER BY id", table, kind,
		)))
		group.Go(func() error {
			random := rand.New(rand.NewPCG(11, uint64(writer)))
			rows := uint64(0)
			for range 14 {
				n := []uint64{1, 100, random.Uint64N(20_000), random.Uint64N(400_000)}[random.IntN(4)] + 1
				if err := insertOwn(ctx, conn, table, uint8(writer), rows, n); err != nil {
					return err
				}
				rows += n
			}
			var count, different, wrong uint64
			err := conn.QueryRow(
				ctx,
				fmt.Sprintf(
					"SELECT count(), uniqExact(id), countIf(writer != %d OR toString(value) != toString(id * 7) OR id >= %d) FROM %s",
					writer, rows, table,
				),
			).Scan(&count, &different, &wrong)
			if err == nil && (count != rows || different != rows || wrong != 0) {
				err = fmt.Errorf("%s: %d rows, %d different, %d wrong, of %d", table, count, different, wrong, rows)
			}
			return err
		})
	}
	require.NoError(t, group.Wait())
}

func insertOwn(ctx context.Context, conn driver.Conn, table string, writer uint8, first, rows uint64) error {
	writers, ids := make([]uint8, rows), make([]uint64, rows)
	numbers, texts := make([]uint64, rows), make([]string, rows)
	for i := range rows {
		writers[i], ids[i], numbers[i], texts[i] = writer, first+i, 7*(first+i), fmt.Sprint(7*(first+i))
	}
	batch, err := conn.PrepareBatch(ctx, "INSERT INTO "+table)
	if err != nil {
		return err
	}
	var values any = numbers
	if writer%2 == 1 {
		values = texts
	}
	for i, column := range []any{writers, ids, values} {
		if err := batch.Column(i).Append(column); err != nil {
			_ = batch.Abort()
			return err
		}
	}
	return batch.Send()
}
