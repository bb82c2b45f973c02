package native

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ClickHouse/ch-go/proto"
	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// Blocks are equal to those of the driver's encoder, whether they are read or written, with one
// section for each column and with several.
func TestBlocksAreThoseOfTheDriver(t *testing.T) {
	for _, rows := range []int{1, 100, chunkBytes/8 - 1, chunkBytes / 8, chunkBytes/8 + 1, 3 * chunkBytes / 8} {
		t.Run(fmt.Sprint(rows), func(t *testing.T) {
			var (
				series proto.ColUInt64
				times  proto.ColInt64
				values proto.ColFloat64
				states proto.ColStr
				texts  []string
				ids    proto.ColUUID
				kinds  proto.ColUInt8
				tags   = proto.NewMap[string, string](new(proto.ColStr), new(proto.ColStr))
				maps   Maps
				runs   Runs
				runsOf proto.ColUInt64
			)
			for i := range rows {
				series, times, values = append(series, rand.Uint64()), append(times, rand.Int64()), append(
					values, rand.NormFloat64(),
				)
				texts = append(texts, strings.Repeat("ü", i%90)) // some need two bytes for their length
				states.Append(texts[i])
				ids, kinds = append(ids, uuid.New()), append(kinds, uint8(i))
				some := Pairs{}
				for k := range i % 3 {
					some.Put(fmt.Sprint(k), texts[i])
				}
				maps = append(maps, &some)
				run := rand.Uint64N(3) * rand.Uint64N(2) * uint64(i/100) // short runs, and long runs of zero
				runs.Append(run, 1)
				runsOf = append(runsOf, run)
				tags.AppendKV(some)
			}
			columns := []ch.ColumnNameAndType{
				{Name: "series", Type: "UInt64"}, {Name: "ts", Type: "Int64"}, {Name: "value", Type: "Float64"},
				{Name: "state", Type: "String"},
				{Name: "id", Type: "UUID"}, {Name: "kind", Type: "UInt8"}, {Name: "version", Type: "UInt64"},
				{Name: "tags", Type: "Map(String, String)"},
			}
			var buffer proto.Buffer
			require.NoError(t, proto.Block{Columns: len(columns), Rows: rows}.EncodeRawBlock(&buffer, 0, []proto.InputColumn{
				{Name: "series", Data: &series}, {Name: "ts", Data: &times}, {Name: "value", Data: &values},
				{Name: "state", Data: &states},
				{Name: "id", Data: &ids}, {Name: "kind", Data: &kinds}, {Name: "version", Data: &runsOf},
				{Name: "tags", Data: tags},
			}))
			block := func() *Body {
				return &Body{sections: encodeBlock(columns, rows, []Column{
					Fixed[uint64](
						series,
					), Fixed[int64](times), Fixed[float64](values), Strings(texts), UUIDs(ids), Fixed[uint8](kinds), &runs,
					maps,
				})}
			}
			var written bytes.Buffer
			n, err := block().WriteTo(&written)
			require.NoError(t, err)
			require.EqualValues(t, len(buffer.Buf), n)
			require.True(t, bytes.Equal(buffer.Buf, written.Bytes()))
			read, err := io.ReadAll(block())
			require.NoError(t, err)
			require.True(t, bytes.Equal(buffer.Buf, read))
		})
	}
}

// After Release, data that the caller writes to the memory is never sent, however the request
// ends.
func TestReleasedRowsAreNotSent(t *testing.T) {
	const before, after = 1, 2
	var seen atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		buffer := make([]byte, 64<<10)
		for {
			n, err := r.Body.Read(buffer)
			if bytes.IndexByte(buffer[:n], after) >= 0 {
				t.Error("the server received data that was written after Release")
			}
			seen.Add(int64(n))
			if err != nil {
				return
			}
			time.Sleep(100 * time.Microsecond)
		}
	}))
	defer server.Close()
	memory := make([]byte, 16<<20)
	old, changed := bytes.Repeat([]byte{before}, len(memory)), bytes.Repeat([]byte{after}, len(memory))
	for range 20 {
		copy(memory, old)
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(20_000))*time.Microsecond)
		body := &Body{sections: []section{{raw: memory[:1<<20]}, {raw: memory[1<<20 : 5<<20]}, {raw: memory[5<<20:]}}}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, body)
		require.NoError(t, err)
		response, err := http.DefaultClient.Do(req)
		if err == nil {
			require.NoError(t, response.Body.Close())
		}
		cancel()
		body.Release()
		copy(memory, changed)
		_, err = body.WriteTo(io.Discard)
		require.ErrorIs(t, err, errReleased)
		_, err = body.Read(make([]byte, 1))
		require.ErrorIs(t, err, errReleased)
	}
	require.Positive(t, seen.Load())
}

// slowWriter reports when a chunk is being written, and waits until it is released.
type slowWriter struct{ begun, end chan struct{} }

func (w slowWriter) Write(p []byte) (int, error) {
	w.begun <- struct{}{}
	<-w.end
	return len(p), nil
}

// Release waits for the chunk that is being written. No further chunk is written after it.
func TestReleaseWaitsForTheChunk(t *testing.T) {
	w := slowWriter{make(chan struct{}), make(chan struct{})}
	body := &Body{sections: []section{{raw: []byte{1}}, {raw: []byte{2}}}}
	written, released := make(chan error, 1), make(chan struct{})
	go func() {
		_, err := body.WriteTo(w)
		written <- err
	}()
	<-w.begun
	go func() {
		body.Release()
		close(released)
	}()
	select {
	case <-released:
		t.Fatal("released while a chunk was being written")
	case <-time.After(50 * time.Millisecond):
	}
	close(w.end)
	// If the writer has locked the mutex first, it writes one more chunk.
	for {
		select {
		case <-w.begun:
			continue
		case <-released:
		}
		break
	}
	select {
	case <-w.begun:
		t.Fatal("a chunk was written after Release")
	case err := <-written:
		if err != nil {
			require.ErrorIs(t, err, errReleased)
		}
	}
}
