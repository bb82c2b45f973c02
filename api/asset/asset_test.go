package asset

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
)

func TestAFileIsSentInTheEncodingThatTheClientTakes(t *testing.T) {
	for header, want := range map[string]string{
		"gzip": "gzip", "GZIP": "gzip", "br, gzip": "gzip", "gzip;q=0.5": "gzip", "gzip ; q=1": "gzip",
		"br;q=1.0, gzip; q=0.8, *;q=0.1": "gzip", "gzip, zstd": "zstd", "gzip;q=1, zstd;q=0.5": "gzip",
		"zstd;q=0, gzip": "gzip", "": "", "br": "", "gzip;q=0": "", "gzip;q=0.000": "", "gzip;q=x": "", "xgzip": "",
	} {
		require.Equal(t, want, negotiateEncoding(http.Header{"Accept-Encoding": {header}}), header)
	}
}

func TestSmallFilesAndThoseThatArePackedAlreadyAreSentAsTheyAre(t *testing.T) {
	long := []byte(strings.Repeat("a", minCompressSize))
	for _, f := range []*File{New(long[:minCompressSize-1], "text/plain", "", true), New(long, "image/png", "", false)} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Accept-Encoding", "gzip, zstd")
		w := httptest.NewRecorder()
		f.Serve(w, r)
		require.Empty(t, w.Header().Get("Content-Encoding"))
		require.Equal(t, string(f.content), w.Body.String())
	}
	packed := New(long, "text/plain", "", true)
	unpacked, err := zstd.NewReader(nil)
	require.NoError(t, err)
	defer unpacked.Close()
	got, err := unpacked.DecodeAll(packed.compressed[encodingZstd](), nil)
	require.NoError(t, err)
	require.Equal(t, long, got)
}
