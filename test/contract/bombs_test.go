package contract_test

import (
	"bytes"
	"net/http"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/contract"
)

// bombs returns bodies that fit into a request and decode to as much as their encoding
// allows: 10 GiB in gzip (10 MiB) and in zstd (330 KB), and 600 MiB in snappy, which has a
// lower maximum ratio.
func bombs(t *testing.T) map[string][]byte {
	t.Helper()
	const block = 128 << 10
	header := zstd.Header{HasFCS: true, FrameContentSize: 10 << 30, WindowSize: 1 << 20}
	zstandard, err := header.AppendTo(nil)
	require.NoError(t, err)
	repeated := []byte{1 << 1, 0, block >> 13, ' '} // a run-length block: 128 KiB of this byte
	zstandard = append(zstandard, bytes.Repeat(repeated, 10<<30/block)...)

	var member bytes.Buffer // concatenated members are a valid file, too
	w := gzip.NewWriter(&member)
	_, _ = w.Write(bytes.Repeat([]byte(" "), 1<<20))
	require.NoError(t, w.Close())

	var framed bytes.Buffer
	frames := snappy.NewBufferedWriter(&framed)
	_, _ = frames.Write(bytes.Repeat([]byte(" "), 64<<10))
	require.NoError(t, frames.Close())
	const magic = 10
	stream := append(
		bytes.Clone(framed.Bytes()[:magic]), bytes.Repeat(framed.Bytes()[magic:], 30<<20/(framed.Len()-magic))...,
	)
	return map[string][]byte{"zstd": zstandard, "gzip": bytes.Repeat(member.Bytes(), 10<<10), "snappy": stream}
}

// The decoding of a body that is far too large stops at the limit, whatever size the body
// declares, and its memory is released.
//
// It is not parallel: other tests would change the resources of the process.
func TestABombOfTenGigabytesIsTooLarge(t *testing.T) {
	l := startLive(t)
	all := bombs(t)
	send := func(path, encoding string, body []byte) *contract.Answer {
		return l.Do(t, contract.Request{
			Method: "POST", Path: path, Body: string(body), Header: map[string]string{"Content-Encoding": encoding},
		})
	}
	held := measureFootprint()
	for encoding, bomb := range all {
		for _, path := range []string{ingestPath, sourcesPath} {
			started := time.Now()
			a := send(path, encoding, bomb[:1024])
			require.Contains(
				t, []int{http.StatusRequestEntityTooLarge, http.StatusBadRequest}, a.Status, "%s: %s", encoding, a.Body,
			)
			send(path, encoding, bomb).RequireFailure(
				t, http.StatusRequestEntityTooLarge, validation, "", map[string]any{"field": "body"},
			)
			require.Less(t, time.Since(started), 20*time.Second)
		}
	}
	requireNoMoreThan(t, held)

	// A bomb in another encoding: the header names two encodings, or one that does not result in JSON.
	var nested bytes.Buffer
	w := gzip.NewWriter(&nested)
	_, _ = w.Write(all["zstd"])
	require.NoError(t, w.Close())
	send(ingestPath, "zstd, gzip", nested.Bytes()).RequireFailure(
		t, http.StatusUnsupportedMediaType, validation, "", map[string]any{"field": "Content-Encoding"},
	)
	send(ingestPath, "gzip", nested.Bytes()).RequireFailure(t, http.StatusBadRequest, validation, "", nil)
	l.createSource(t, `{"name":"boiler"}`)
}
