package request_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

const limit = 1 << 20

func encode(t testing.TB, encoding string, plain []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser
	switch encoding {
	case "gzip":
		w = gzip.NewWriter(&out)
	case "zstd":
		w, _ = zstd.NewWriter(&out)
	case "snappy":
		return snappy.Encode(nil, plain)
	case "snappy framed":
		w = snappy.NewBufferedWriter(&out)
	}
	_, err := w.Write(plain)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

func post(body []byte, header ...string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header[header[i]] = append([]string{}, strings.Split(header[i+1], "|")...)
	}
	return r
}

func TestBodiesAreDecoded(t *testing.T) {
	plain := []byte(`{"a":"` + strings.Repeat("x", 300_000) + `"}`)
	for _, encoding := range []string{"gzip", "zstd", "snappy", "snappy framed"} {
		for range 2 { // the second time with pooled decoders
			header, _, _ := strings.Cut(encoding, " ")
			body, release, err := request.Body(nil, post(encode(t, encoding, plain), "Content-Encoding", header), limit)
			require.NoError(t, err, encoding)
			require.True(t, bytes.Equal(plain, body), encoding)
			release()
			release() // a second call does no harm
		}
	}
	for _, header := range []string{"identity", ""} {
		body, release, err := request.Body(nil, post(plain, "Content-Encoding", header), limit)
		require.NoError(t, err)
		require.Len(t, body, len(plain))
		release()
	}
}

func TestABodyMayBeEncodedWithoutSayingSo(t *testing.T) {
	plain := bytes.Repeat([]byte("protobuf"), 1000)
	for _, c := range []struct {
		encoding string
		header   []string
	}{
		{"snappy", nil}, {"snappy", []string{"Content-Encoding", "snappy"}}, {"gzip", []string{"Content-Encoding", "gzip"}},
		{"", []string{"Content-Encoding", "identity"}},
	} {
		sent := plain
		if c.encoding != "" {
			sent = encode(t, c.encoding, plain)
		}
		body, release, err := request.Body(nil, post(sent, c.header...), limit, request.DefaultEncoding("snappy"))
		require.NoError(t, err, "%+v", c)
		require.True(t, bytes.Equal(plain, body), "%+v", c)
		release()
	}
	_, _, err := request.Body(nil, post(plain), limit, request.DefaultEncoding("snappy"))
	require.Equal(t, fault.Malformed, fault.KindOf(err))
}

func TestBodiesThatDoNotDecodeAreMalformed(t *testing.T) {
	plain := []byte(`{"a":"` + strings.Repeat("abcdefgh", 10_000) + `"}`)
	for _, encoding := range []string{"gzip", "zstd", "snappy", "snappy framed"} {
		header, _, _ := strings.Cut(encoding, " ")
		good := encode(t, encoding, plain)
		corrupt := bytes.Clone(good)
		for i := len(good) / 2; i < len(good); i++ {
			corrupt[i] ^= 0x5a
		}
		for name, body := range map[string][]byte{
			"plain": plain, "truncated": good[:len(good)-5], "corrupt": corrupt, "one byte": good[:1],
		} {
			_, _, err := request.Body(nil, post(body, "Content-Encoding", header), limit)
			require.Equal(t, fault.Malformed, fault.KindOf(err), "%s %s: %v", encoding, name, err)
		}
	}
}

func TestBombsStopAtTheLimit(t *testing.T) {
	budget := request.NewBudget(64 << 20)
	for _, encoding := range []string{"gzip", "zstd", "snappy", "snappy framed"} {
		header, _, _ := strings.Cut(encoding, " ")
		bomb := encode(t, encoding, make([]byte, 20<<20))
		_, _, err := request.Body(nil, post(bomb, "Content-Encoding", header), limit, request.WithBudget(budget))
		var fe *fault.Error
		require.ErrorAs(t, err, &fe, encoding)
		require.Equal(t, fault.TooLarge, fe.Kind, encoding)
		require.EqualValues(t, limit, fe.Details["limit"], encoding)
		require.Zero(t, budget.Used(), encoding)
	}
	lie := append([]byte{0xff, 0xff, 0xff, 0xff, 0x0f}, "abc"...) // a snappy block that claims 4 GiB
	_, _, err := request.Body(nil, post(lie, "Content-Encoding", "snappy"), limit)
	require.Equal(t, fault.TooLarge, fault.KindOf(err))
}

func TestTheLimitCountsBytes(t *testing.T) {
	for size, ok := range map[int]bool{limit - 1: true, limit: true, limit + 1: false, 3 * limit: false} {
		for _, known := range []bool{true, false} {
			r := post(make([]byte, size))
			if !known {
				r.ContentLength = -1
			}
			_, release, err := request.Body(nil, r, limit)
			require.Equal(t, ok, err == nil, "%d %v", size, known)
			if ok {
				release()
			} else {
				require.Equal(t, fault.TooLarge, fault.KindOf(err))
			}
		}
	}
}

func TestWrongContentTypesAndEncodingsAreUnsupported(t *testing.T) {
	for _, header := range [][]string{
		{"Content-Type", "text/plain"}, {"Content-Type", ""}, {"Content-Type", "application/json|application/json"},
		{"Content-Type", "application/json; charset=latin1"}, {"Content-Type", "application/json; charset=utf-16"},
		{"Content-Type", "application/jsonx"}, {"Content-Type", "application/json, text/plain"},
		{"Content-Type", "application/json; charset"},
		{"Content-Encoding", "br"}, {"Content-Encoding", "gzip, gzip"}, {"Content-Encoding", "gzip|gzip"},
		{"Content-Encoding", "deflate"},
		{"Content-Encoding", "gzip,identity"},
	} {
		_, _, err := request.Body(nil, post([]byte("{}"), header...), limit)
		var fe *fault.Error
		require.ErrorAs(t, err, &fe, header)
		require.Equal(t, fault.UnsupportedMedia, fe.Kind, header)
		require.Equal(t, header[0], fe.Details["field"], header)
		require.NotEmpty(t, fe.Details["allowed"], header)
	}
	missing := post([]byte("{}"))
	missing.Header.Del("Content-Type")
	_, _, err := request.Body(nil, missing, limit)
	require.Equal(t, fault.UnsupportedMedia, fault.KindOf(err))

	for _, contentType := range []string{
		"application/json;charset=UTF-8", "Application/JSON", `application/json; charset="utf-8"`,
	} {
		_, release, err := request.Body(nil, post([]byte("{}"), "Content-Type", contentType), limit)
		require.NoError(t, err, contentType)
		release()
	}
}

func TestABodyThatEndsBadly(t *testing.T) {
	for want, failure := range map[fault.Kind]error{
		fault.Malformed: io.ErrUnexpectedEOF, fault.Timeout: os.ErrDeadlineExceeded,
	} {
		for _, encoding := range []string{"identity", "gzip", "zstd", "snappy"} {
			r := post([]byte("x"), "Content-Encoding", encoding)
			half := []byte(`{"a":`)
			if encoding != "identity" {
				half = encode(t, encoding, bytes.Repeat(half, 1000))
				half = half[:len(half)/2]
			}
			r.ContentLength = 1000
			r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(half), iotest.ErrReader(failure)))
			_, _, err := request.Body(nil, r, limit)
			require.Equal(t, want, fault.KindOf(err), "%s %v", encoding, err)
		}
	}
	empty := post(nil)
	_, _, err := request.Body(nil, empty, limit)
	require.Equal(t, fault.Malformed, fault.KindOf(err))
}

func TestABudgetBoundsAllBodiesTogether(t *testing.T) {
	budget := request.NewBudget(1 << 20)
	_, release, err := request.Body(nil, post(make([]byte, 600_000)), limit, request.WithBudget(budget))
	require.NoError(t, err)
	_, _, err = request.Body(nil, post(make([]byte, 600_000)), limit, request.WithBudget(budget))
	require.Equal(t, fault.Unavailable, fault.KindOf(err))
	release()
	require.Zero(t, budget.Used())
	_, release, err = request.Body(nil, post(make([]byte, 600_000)), limit, request.WithBudget(budget))
	require.NoError(t, err)
	release()
	release()
	require.Zero(t, budget.Used())
}

func TestJSONTakesMergePatchesOnPatchOnly(t *testing.T) {
	for method, ok := range map[string]bool{http.MethodPatch: true, http.MethodPost: false} {
		r := post([]byte(`{"name":"a"}`), "Content-Type", "application/merge-patch+json")
		r.Method = method
		var into source
		require.Equal(t, ok, request.JSON(r, &into) == nil, method)
	}
}
