package query

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
)

// numberedPoints returns rows points, whose values are their indexes.
func numberedPoints(rows int) *timeseries.Points {
	p := &timeseries.Points{Columns: make([]timeseries.Column, 1)}
	for i := range rows {
		p.TS = append(p.TS, int64(i)*1_000_000)
		p.Columns[0].Numbers = append(p.Columns[0].Numbers, float64(i))
	}
	return p
}

func TestManyPointsAreWrittenInOrder(t *testing.T) {
	groups := []*timeseries.Points{
		numberedPoints(3*renderRows + 1), nil, numberedPoints(0), numberedPoints(renderRows), numberedPoints(1),
		numberedPoints(2 * renderRows),
	}
	var parts []chunk
	for i, points := range groups {
		before := fmt.Sprintf(`{"at":%d,"points":[`, i)
		if i > 0 {
			before = "," + before
		}
		parts = append(parts, chunksOf(points, []byte(before), []byte("]}"))...)
	}
	var written bytes.Buffer
	out := bufio.NewWriter(&written)
	(&run{q: &queryParams{epoch: "ms"}}).writeChunks(out, parts)
	require.NoError(t, out.Flush())
	var read []struct {
		At     int
		Points [][2]float64
	}
	require.NoError(t, json.Unmarshal([]byte("["+written.String()+"]"), &read))
	require.Len(t, read, len(groups))
	for i, g := range groups {
		require.Equal(t, i, read[i].At)
		if g == nil {
			require.Empty(t, read[i].Points)
			continue
		}
		require.Len(t, read[i].Points, len(g.TS))
		for row, point := range read[i].Points {
			if want := [2]float64{float64(row) * 1000, float64(row)}; point != want {
				require.Equal(t, want, point)
			}
		}
	}
}

// closedWriter is a client that has disconnected.
type closedWriter struct{ writes int }

func (w *closedWriter) Write([]byte) (int, error) {
	w.writes++
	return 0, errors.New("gone")
}

func TestNothingIsRenderedForAClientThatIsGone(t *testing.T) {
	w := &closedWriter{}
	r := &run{q: &queryParams{}}
	// the last would panic
	parts := append(chunksOf(numberedPoints(2*runtime.GOMAXPROCS(0)*renderRows), nil, nil), chunk{points: nil, to: 1})
	r.writeChunks(bufio.NewWriterSize(w, 16), parts)
	require.Equal(t, 1, w.writes)
}

func TestAPanicOfARenderingIsTheRequests(t *testing.T) {
	r := &run{q: &queryParams{}}
	parts := []chunk{{points: numberedPoints(1), to: 1}, {points: nil, to: renderRows + 1}}
	require.Panics(t, func() { r.renderConcurrently(parts, make([][]byte, 2)) })
}
