package livegraph

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// ErrSignature is a request that was not sent by a webhook with one of the secrets, or too long ago. Answer it with
// 401.
var ErrSignature = errors.New("the signature of the webhook is invalid")

// WebhookEvent is an event that was received.
type WebhookEvent struct {
	// ID is the same for all attempts to send the event. Ignore ids that were processed.
	ID string `json:"id"`
	// Type is the type, such as alert.firing.
	Type string `json:"type"`
	// Timestamp is when the event occurred.
	Timestamp time.Time `json:"timestamp"`
	// WorkspaceID is the id of the workspace.
	WorkspaceID string `json:"workspaceId"`
	// Data has the fields of events of this type.
	Data json.RawMessage `json:"data"`
}

// webhookTolerance is how far the time of a request may be from now. Older requests could be copies that somebody
// sends again.
const webhookTolerance = 5 * time.Minute

// VerifyWebhook returns the event in a request after it has checked the signature. One of the secrets must match.
// The body must be as it was received, before any decoding. The error is [ErrSignature] if no signature matches, or
// the time of the request differs by more than five minutes from now.
func VerifyWebhook(header http.Header, body []byte, secrets ...string) (*WebhookEvent, error) {
	return verifyWebhook(header, body, secrets, time.Now())
}

func verifyWebhook(header http.Header, body []byte, secrets []string, now time.Time) (*WebhookEvent, error) {
	id, sent, signatures := header.Get("webhook-id"), header.Get("webhook-timestamp"), header.Get("webhook-signature")
	if id == "" || sent == "" || signatures == "" {
		return nil, fmt.Errorf("%w: the request has no signature", ErrSignature)
	}
	seconds, err := strconv.ParseUint(sent, 10, 40)
	if err != nil {
		return nil, fmt.Errorf("%w: the time of the request is not a number", ErrSignature)
	}
	if now.Sub(time.Unix(int64(seconds), 0)).Abs() > webhookTolerance {
		return nil, fmt.Errorf("%w: the request was sent too long ago, or in the future", ErrSignature)
	}
	matches := false
	for _, secret := range secrets {
		key, err := webhookKey(secret)
		if err != nil {
			return nil, err
		}
		// Every signature is compared, in constant time.
		matches = matchesAny(sign(key, id, sent, body), signatures) || matches
	}
	if !matches {
		return nil, fmt.Errorf("%w: no secret matches", ErrSignature)
	}
	event := &WebhookEvent{}
	if err := json.Unmarshal(body, event); err != nil {
		return nil, fmt.Errorf("livegraph: the body of the webhook is not an event: %w", err)
	}
	return event, nil
}

func sign(key []byte, id, sent string, body []byte) string {
	mac := hmac.New(sha256.New, key)
	_, _ = fmt.Fprintf(mac, "%s.%s.", id, sent)
	_, _ = mac.Write(body)
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

func matchesAny(expected, signatures string) (matches bool) {
	for signature := range strings.SplitSeq(signatures, " ") {
		version, value, _ := strings.Cut(signature, ",")
		if version == "v1" && hmac.Equal([]byte(value), []byte(expected)) {
			matches = true
		}
	}
	return matches
}

func webhookKey(secret string) ([]byte, error) {
	encoded, ok := strings.CutPrefix(secret, "whsec_")
	key, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil || len(key) == 0 {
		return nil, errors.New("livegraph: the secret of a webhook begins with whsec_, and the rest is base64")
	}
	return key, nil
}
