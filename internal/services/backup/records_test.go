package backup

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"pgregory.net/rapid"
)

// nullableBytes generates byte slices, including nil and empty ones, which are different.
func nullableBytes() *rapid.Generator[[]byte] {
	return rapid.Custom(func(t *rapid.T) []byte {
		if rapid.Bool().Draw(t, "none") {
			return nil
		}
		return append([]byte{}, rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")...)
	})
}

func TestRecordsAreReadAsTheyWereWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var file []byte
		var want []*kgo.Record
		for range rapid.IntRange(0, 5).Draw(t, "records") {
			r := &kgo.Record{
				Partition: rapid.Int32Range(0, 1<<30).Draw(t, "partition"), Offset: rapid.Int64Range(0, 1<<62).Draw(t, "offset"),
				Timestamp: time.UnixMilli(rapid.Int64Range(-1<<40, 1<<45).Draw(t, "time")), Key: nullableBytes().Draw(t, "key"),
				Value: nullableBytes().Draw(t, "value"),
			}
			for range rapid.IntRange(0, 3).Draw(t, "headers") {
				r.Headers = append(r.Headers, kgo.RecordHeader{
					Key: rapid.String().Draw(t, "name"), Value: nullableBytes().Draw(t, "text"),
				})
			}
			want = append(want, r)
			file = appendRecord(file, r)
		}
		reader := newRecordReader(bytes.NewReader(file))
		for _, r := range want {
			got, err := reader.next()
			require.NoError(t, err)
			require.Equal(t, r, got)
		}
		_, err := reader.next()
		require.ErrorIs(t, err, io.EOF)
	})
}

func FuzzRecords(f *testing.F) {
	f.Add(appendRecord(nil, &kgo.Record{Value: []byte("v"), Headers: []kgo.RecordHeader{{Key: "k"}}}))
	f.Add([]byte{0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, file []byte) {
		reader := newRecordReader(bytes.NewReader(file))
		for {
			r, err := reader.next()
			if err != nil {
				if errors.Is(err, io.EOF) && r != nil {
					t.Fatal("next returned a record and io.EOF")
				}
				return
			}
		}
	})
}
