package webhooks

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/livegraph/livegraph/internal/platform/outbound"
	"github.com/livegraph/livegraph/internal/platform/retryafter"
	"github.com/livegraph/livegraph/storage/postgres/hooks"
)

const (
	maxRetryAfter = time.Hour
	maxAnswer     = 64 << 10 // bytes that are read, so that the connection can be used again
)

// goneReason is the reason of a webhook that is disabled.
const goneReason = "The receiver answered 410 Gone"

// attempt sends a delivery once.
func (r *Runner) attempt(ctx context.Context, c *hooks.Claim) hooks.Attempt {
	limited, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	status, retryAfter, err := r.send(limited, c)
	if err != nil {
		text := outbound.Reason(err)
		return r.failed(c, hooks.Attempt{Error: &text}, 0)
	}
	if status >= 200 && status <= 299 {
		return hooks.Attempt{State: hooks.Delivered, Status: &status}
	}
	text := "the receiver answered " + strconv.Itoa(status)
	if status >= 300 && status <= 399 {
		text += ", and redirects are not followed"
	}
	a := hooks.Attempt{Status: &status, Error: &text}
	if status == http.StatusGone {
		a.State, a.Disable = hooks.Failed, goneReason
		return a
	}
	return r.failed(c, a, min(retryAfter, maxRetryAfter))
}

// failed completes the outcome of an attempt that failed. The next one is not before minWait.
func (r *Runner) failed(c *hooks.Claim, a hooks.Attempt, minWait time.Duration) hooks.Attempt {
	attempts := c.Attempts + 1
	if attempts >= MaxAttempts {
		a.State = hooks.Failed
		return a
	}
	a.State, a.Retry = hooks.Pending, max(r.Backoff(attempts), minWait)
	return a
}

// send sends a delivery. It returns the status of the answer, and for how long the receiver asks to wait.
func (r *Runner) send(ctx context.Context, c *hooks.Claim) (status int, retryAfter time.Duration, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, strings.NewReader(c.Payload))
	if err != nil {
		return 0, 0, fmt.Errorf("creating a request: %w", err)
	}
	id, now := c.EventID.String(), time.Now()
	signatures, err := sign(c.Secrets, id, now, c.Payload)
	if err != nil {
		return 0, 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "Livegraph")
	request.Header.Set("Webhook-Id", id)
	request.Header.Set("Webhook-Timestamp", strconv.FormatInt(now.Unix(), 10))
	request.Header.Set("Webhook-Signature", signatures)
	answer, err := r.Client.Do(request)
	if err != nil {
		return 0, 0, fmt.Errorf("sending: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	_, _ = io.CopyN(io.Discard, answer.Body, maxAnswer) // the status says all
	return answer.StatusCode, retryafter.Parse(answer.Header), nil
}

// sign returns the signatures of a delivery as a header has them, one for each secret.
func sign(secrets []string, id string, at time.Time, payload string) (string, error) {
	signatures := make([]string, 0, len(secrets))
	for _, secret := range secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, hooks.SecretPrefix))
		if err != nil {
			return "", errors.New("the secret is not valid")
		}
		mac := hmac.New(sha256.New, key)
		_, _ = fmt.Fprintf(mac, "%s.%d.%s", id, at.Unix(), payload)
		signatures = append(signatures, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return strings.Join(signatures, " "), nil
}
