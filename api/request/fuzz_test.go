package request_test

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

// FuzzBody checks that any body in any encoding is read within its limit or refused with the
// name of a field, and that its whole reservation is released.
func FuzzBody(f *testing.F) {
	encodings := []string{"", "identity", "gzip", "x-gzip", "zstd", "snappy", "GZIP", "gzip, gzip"}
	const limit = 64 << 10
	plain := bytes.Repeat([]byte(`{"a":"b"}`), 50)
	for i, encoding := range []string{"", "gzip", "zstd", "snappy", "snappy framed"} {
		body := plain
		if encoding != "" {
			body = encode(f, encoding, plain)
		}
		f.Add(body, uint8(i), int64(len(body)))
	}
	f.Add(encode(f, "gzip", make([]byte, 1<<20)), uint8(2), int64(-1))
	f.Add(encode(f, "zstd", make([]byte, 1<<20)), uint8(4), int64(1))
	f.Add([]byte("\xff\xff\xff\xff\x0fabc"), uint8(5), int64(8))
	f.Fuzz(func(t *testing.T, body []byte, encoding uint8, contentLength int64) {
		budget := request.NewBudget(1 << 20)
		r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Content-Encoding", encodings[int(encoding)%len(encodings)])
		r.ContentLength = max(contentLength, -1)
		got, release, err := request.Body(nil, r, limit, request.WithBudget(budget))
		if err != nil {
			require.Contains(
				t, []fault.Kind{fault.Malformed, fault.TooLarge, fault.UnsupportedMedia}, fault.KindOf(err), "%v", err,
			)
			var refusal *fault.Error
			require.True(t, errors.As(err, &refusal) && refusal.Details["field"] != nil, "%v", err)
		} else {
			require.LessOrEqual(t, len(got), limit)
			release()
		}
		require.Zero(t, budget.Used())
	})
}

// FuzzParseTime checks that package time can encode each parsed time and that it parses to the
// same time again.
func FuzzParseTime(f *testing.F) {
	for _, text := range []string{
		"2026-11-21T07:40:08Z", "2026-11-21T07:40:08.290296+05:45", "0000-01-01T00:00:00-23:59", "0000-01-01T00:00:00+23:59",
		"9999-12-31T23:59:59-23:59", "9999-12-31T23:59:59.999999999Z", "2016-12-31T23:59:60Z", "2026-02-30T00:00:00Z",
		"2026-11-21T7:40:08,5Z",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parsed, ok := request.ParseTime(text)
		if !ok {
			return
		}
		_, err := parsed.UTC().MarshalJSON()
		require.NoError(t, err, text)
		_, err = parsed.UTC().Add(time.Microsecond - 1).Truncate(time.Microsecond).MarshalJSON()
		require.NoError(t, err, "%s, rounded to microseconds", text)
		again, ok := request.ParseTime(parsed.Format(time.RFC3339Nano))
		require.True(t, ok, text)
		require.True(t, parsed.Equal(again), text)
	})
}
