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

// texts are bytes, or none at all, which is something else.
func texts() *rapid.Generator[[]byte] {
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
				Timestamp: time.UnixMilli(rapid.Int64Range(-1<<40, 1<<45).Draw(t, "time")), Key: texts().Draw(t, "key"),
				Value: texts().Draw(t, "value"),
			}
			for range rapid.IntRange(0, 3).Draw(t, "headers") {
				r.Headers = append(r.Headers, kgo.RecordHeader{Key: rapid.String().Draw(t, "name"), Value: texts().Draw(t, "text")})
			}
			want = append(want, r)
			file = appendRecord(file, r)
		}
		from := newRecordReader(bytes.NewReader(file))
		for _, r := range want {
			got, err := from.next()
			require.NoError(t, err)
			require.Equal(t, r, got)
		}
		_, err := from.next()
		require.ErrorIs(t, err, io.EOF)
	})
}

func FuzzRecords(f *testing.F) {
	f.Add(appendRecord(nil, &kgo.Record{Value: []byte("v"), Headers: []kgo.RecordHeader{{Key: "k"}}}))
	f.Add([]byte{0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, file []byte) {
		from := newRecordReader(bytes.NewReader(file))
		for {
			r, err := from.next()
			if err != nil {
				if errors.Is(err, io.EOF) && r != nil {
					t.Fatal("a record beside an error")
				}
				return
			}
		}
	})
}
