package auditrecord_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/auditrecord"
)

// FuzzDecode checks that any bytes decode to a record or an error, and that a decoded record is
// unchanged after encoding and decoding.
func FuzzDecode(f *testing.F) {
	for _, r := range []auditrecord.Record{
		{RequestID: "req_1", At: time.UnixMicro(1), Requests: 7},
		{
			RequestID: "req_2", At: time.UnixMicro(1_795_246_808_290_296), Final: true,
			Key: uuid.MustParse("0194a5b0-0000-7000-8000-00000000000a"), Workspace: uuid.Max, Method: "GET", Route: "/api/me",
			Status: 200, IP: netip.MustParseAddr("2001:db8::1"), UserAgent: "curl/8", Duration: time.Millisecond, BytesIn: 1,
			BytesOut: 1 << 40,
		},
	} {
		encoded, err := auditrecord.Encode(&r)
		require.NoError(f, err)
		f.Add(encoded)
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, encoded []byte) {
		r, err := auditrecord.Decode(encoded)
		if err != nil {
			return
		}
		require.NotEmpty(t, r.RequestID)
		require.NotZero(t, r.Requests)
		r.Method, r.UserAgent = auditrecord.Sanitize(r.Method, auditrecord.MaxMethod), auditrecord.Sanitize(
			r.UserAgent, auditrecord.MaxUserAgent,
		)
		again, err := auditrecord.Encode(&r)
		require.NoError(t, err)
		same, err := auditrecord.Decode(again)
		require.NoError(t, err)
		require.Equal(t, r, same)
	})
}

// FuzzClean checks that any text is limited to the maximum length, without control characters.
func FuzzClean(f *testing.F) {
	for _, text := range []string{
		"", "curl/8", "\x1b[31m", "a\r\nlevel=ERROR msg=forged", "\xff\xfe", "\u202e\u200b", "lg_live_x",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		clean := auditrecord.Sanitize(text, 64)
		require.LessOrEqual(t, len(clean), 64)
		require.NotContains(t, clean, "\n")
		require.Equal(t, clean, auditrecord.Sanitize(clean, 64))
	})
}
