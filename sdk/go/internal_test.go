package livegraph

import (
	"net/http"
	"testing"
	"time"
)

func TestRetryAfterIsSecondsOrADate(t *testing.T) {
	now := time.Date(2026, 11, 21, 7, 40, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"3": 3 * time.Second, "0": 0, "": 0, "-1": 0, "1.5": 0, "x": 0, "99999999999": 0, "4294967295": maxRetryAfter,
		"Sat, 21 Nov 2026 07:40:07 GMT": 7 * time.Second, "Sat, 21 Nov 2026 07:39:00 GMT": 0,
	} {
		if got := parseRetryAfter(header, now); got != want {
			t.Errorf("%q: %s", header, got)
		}
	}
}

func TestWaitsDoubleUpToABound(t *testing.T) {
	a := newAttempts(Retry{First: time.Second, Max: 3 * time.Second}.withDefaults(), &Request{})
	for _, want := range []time.Duration{time.Second, 2 * time.Second, 3 * time.Second, 3 * time.Second} {
		wait, ok := a.nextWait(&APIError{Status: http.StatusServiceUnavailable})
		if !ok || wait < want/2 || wait > want*3/2 {
			t.Errorf("%s is not about %s", wait, want)
		}
	}
}

// FuzzAPIError checks that any answer of a server, or of a proxy in front of it, results in an error with a message.
func FuzzAPIError(f *testing.F) {
	f.Add(404, []byte(`{"success":false,"error":{"code":"NOT_FOUND","message":"No such node","details":{"field":"id"}},`+
		`"requestId":"req_1"}`))
	f.Add(502, []byte("<html>"))
	f.Add(302, []byte(`{"error":{"details":[]}}`))
	f.Add(999, []byte{})
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		err := newAPIError(&http.Response{StatusCode: status, Header: http.Header{}}, body)
		if err.Message == "" || err.Error() == "" || err.Status != status {
			t.Fatalf("%+v", err)
		}
	})
}

func TestWebhooksAreVerified(t *testing.T) {
	const secret, other = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_AAAA"
	body := []byte(`{"id":"e","type":"alert.firing","timestamp":"2026-11-21T07:40:00Z","workspaceId":"w","data":{"a":1}}`)
	now := time.Unix(1700000000, 0)
	key, err := webhookKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	header := http.Header{}
	header.Set("webhook-id", "e")
	header.Set("webhook-timestamp", "1700000000")
	header.Set("webhook-signature", "v2,x v1,AAAA v1,"+sign(key, "e", "1700000000", body))
	event, err := verifyWebhook(header, body, []string{other, secret}, now.Add(4*time.Minute))
	if err != nil || event.Type != "alert.firing" || string(event.Data) != `{"a":1}` {
		t.Fatalf("%+v, %v", event, err)
	}
	for name, change := range map[string]func(h http.Header) (body []byte, secrets []string, at time.Time){
		"another body":   func(http.Header) ([]byte, []string, time.Time) { return []byte("{}"), []string{secret}, now },
		"another secret": func(http.Header) ([]byte, []string, time.Time) { return body, []string{other}, now },
		"no secret":      func(http.Header) ([]byte, []string, time.Time) { return body, nil, now },
		"invalid secret": func(http.Header) ([]byte, []string, time.Time) { return body, []string{"x"}, now },
		"old": func(http.Header) ([]byte, []string, time.Time) {
			return body, []string{secret}, now.Add(time.Hour)
		},
		"another time": func(h http.Header) ([]byte, []string, time.Time) {
			h.Set("webhook-timestamp", "1700000001")
			return body, []string{secret}, now
		},
		"no time": func(h http.Header) ([]byte, []string, time.Time) {
			h.Set("webhook-timestamp", "x")
			return body, []string{secret}, now
		},
		"no signature": func(h http.Header) ([]byte, []string, time.Time) {
			h.Del("webhook-signature")
			return body, []string{secret}, now
		},
	} {
		changed := header.Clone()
		content, secrets, at := change(changed)
		if _, err := verifyWebhook(changed, content, secrets, at); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}
