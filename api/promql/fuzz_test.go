package promql

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/prometheus/prompb"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// FuzzPromQL: parameters of any text are read, or refused as malformed.
func FuzzPromQL(f *testing.F) {
	for _, seed := range []string{
		"query=up&time=1&limit=3&timeout=5s", "query=sum(rate(a%5B5m%5D))&time=2026-03-01T00:00:00Z", "time=1e400&step=NaN",
		"limit=-1&time=-Inf", "lookback_delta=9223372036854775807&timeout=1e300", "%zz",
		"query=" + strings.Repeat("-", 2000) + "a",
		"query=" + strings.Repeat("(", 2000) + "1" + strings.Repeat(")", 2000), "match[]=a&match[]={b!=%22%22}&a;b",
		"query=%7B%22a+b%22%2C+c%3D~%22(a%7Cb)%22%7D+offset+-5m+%40+end()",
	} {
		f.Add(seed)
	}
	a := &api{}
	check := func(t *testing.T, err error) {
		if err != nil && !fault.Is(err, fault.Malformed) {
			t.Fatalf("not malformed: %v", err)
		}
	}
	f.Fuzz(func(t *testing.T, body string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/prometheus/api/v1/query", strings.NewReader(body))
		r.Header.Set("Content-Type", formType)
		parameters, err := readForm(nil, r)
		if fault.Is(err, fault.TooLarge) {
			return
		}
		check(t, err)
		if err != nil {
			return
		}
		at, err := parameters.time("time", time.Unix(0, 0))
		check(t, err)
		if err == nil && (at.Year() < -1 || at.Year() > 9999) {
			t.Fatalf("the year %d", at.Year())
		}
		for _, name := range []string{"step", "timeout", "lookback_delta"} {
			_, err := parameters.duration(name)
			check(t, err)
		}
		_, err = parameters.limit()
		check(t, err)
		_, err = parse(parameters.get("query"))
		check(t, err)
		_, _, err = a.selectors(&call{Request: r, form: parameters})
		check(t, err)
	})
}

// FuzzRemoteRead: a body of any bytes is a request within its limits, or is refused.
func FuzzRemoteRead(f *testing.F) {
	valid, err := (&prompb.ReadRequest{
		Queries: []*prompb.Query{{StartTimestampMs: 1, EndTimestampMs: 1 << 62, Matchers: []*prompb.LabelMatcher{
			{Type: prompb.LabelMatcher_NRE, Name: "a", Value: "b|c"},
		}}},
		AcceptedResponseTypes: []prompb.ReadRequest_ResponseType{prompb.ReadRequest_STREAMED_XOR_CHUNKS},
	}).Marshal()
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range [][]byte{valid, nil, {0xff}, valid[:5], []byte("\x0a\x00\x0a\x00\x12\x01\x09")} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		body := strings.NewReader(string(snappy.Encode(nil, message)))
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/prometheus/api/v1/read", body)
		r.Header.Set("Content-Type", readType)
		read, err := parseRead(nil, r)
		if err != nil {
			if !fault.Is(err, fault.Malformed) && !fault.Is(err, fault.TooLarge) {
				t.Fatalf("not malformed: %v", err)
			}
			return
		}
		_, _ = isStreamed(read.AcceptedResponseTypes)
		for _, q := range read.Queries {
			if _, err := readMatchers(q.Matchers); err != nil && !fault.Is(err, fault.Malformed) {
				t.Fatalf("not malformed: %v", err)
			}
		}
	})
}
