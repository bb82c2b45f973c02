package audit

import (
	"encoding/csv"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/auditrecord"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

// FuzzParameters checks that any query string is a valid filter or is refused with the name of
// a parameter.
func FuzzParameters(f *testing.F) {
	for _, query := range []string{
		"", "status=4xx,200&route=/api/me&ip=::ffff:10.0.0.1&from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z",
		"status=000,6xx,+99", "ip=fe80::1%25eth0", "requestId=req_0123456789ABCDEFGHJKMNPQRS",
		"keyId=0194a5b0-0000-7000-8000-00000000000a,", "from=9999-12-31T23:59:59Z&to=0000-01-01T00:00:00Z", "route=%00",
	} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		p := request.Query(&http.Request{URL: &url.URL{RawQuery: raw}})
		found := filter(p, &uuid.Nil)
		if err := p.Err(); err != nil {
			require.Equal(t, fault.Malformed, fault.KindOf(err))
			return
		}
		for _, span := range found.Statuses {
			require.LessOrEqual(t, span.From, span.To)
			require.Less(t, span.To, uint16(600))
		}
		require.LessOrEqual(t, len(found.Route), maxRoute)
		require.Empty(t, found.IP.Zone())
		require.True(t, found.From.IsZero() || found.To.IsZero() || found.From.Before(found.To))
		require.False(t, withinRetention(found, time.Hour).From.Before(time.Now().Add(-2*time.Hour)))
	})
}

// FuzzCSV checks that for any text of a client a record is one line, has as many cells as the
// header line, and contains no formula.
func FuzzCSV(f *testing.F) {
	f.Add("GET", "curl/8", "203.0.113.9")
	f.Add("=1+1", "\",=HYPERLINK(\"x\")\r\n+1", "")
	f.Fuzz(func(t *testing.T, method, agent, ip string) {
		address, _ := ParseAddress(ip)
		line := AppendCSV([]byte(CSVHeader), &auditrecord.Record{
			RequestID: "req_1", At: time.UnixMicro(1), Method: method, UserAgent: agent, IP: address, Requests: 1,
		})
		rows, err := csv.NewReader(strings.NewReader(string(line))).ReadAll()
		require.NoError(t, err, "%q", line)
		require.Len(t, rows, 2)
		for _, cell := range rows[1] {
			require.False(t, cell != "" && strings.ContainsRune("=+-@\t\r\n", rune(cell[0])), "%q", cell)
		}
		require.True(t, !address.IsValid() || address != netip.Addr{})
	})
}
