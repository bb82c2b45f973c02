package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// call is a request.
type call struct {
	key       access // API key of the request; zero value: none
	workspace string // workspace of the header; empty: that of the key's tenant
	method    string
	path      string
	body      []byte
	header    map[string]string
	api       int // number of the process, from 1; 0: the next in turn
	// errorExpected means that an authentication, permission or rate limit error is not a violation.
	errorExpected bool
	// refusable means that the command may fail with an internal error: see the constant refusable.
	refusable bool
}

// access is an API key of a tenant.
type access struct {
	tenant *tenant
	id     string
	text   string
}

// answer is the response to a call.
type answer struct {
	Status    int
	Header    http.Header
	Body      []byte
	RequestID string
	Data      json.RawMessage
	Error     struct {
		Code    string
		Message string
		Details map[string]any
	}
	Meta struct{ Total int64 }
}

// client sends requests to all API processes in turn, and checks in each answer what applies to
// every request.
type client struct {
	load *Load
	apis []string
	next atomic.Int64
	http *http.Client
	// avoid are the times, in nanoseconds, until which requests go to other processes, with Failover.
	avoid []atomic.Int64

	answered, unanswered atomic.Int64
	lastUnknown          atomic.Int64 // time of the last request with an unknown outcome, in nanoseconds
}

func newClient(l *Load, apis []string) *client {
	return &client{load: l, apis: apis, avoid: make([]atomic.Int64, len(apis)), http: &http.Client{
		Transport: &http.Transport{
			DialContext:         (&net.Dialer{Timeout: 3 * time.Second}).DialContext,
			MaxIdleConnsPerHost: 32, IdleConnTimeout: 30 * time.Second,
			ResponseHeaderTimeout: requestTimeout,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// avoidTime is the time for which a process that did not answer gets no requests, with Failover.
const avoidTime = 2 * time.Second

// choose returns the index of a process, numbered from 1, or of the next one if api is 0.
func (c *client) choose(api int) int {
	if api > 0 {
		return (api - 1) % len(c.apis)
	}
	now := time.Now().UnixNano()
	for range c.apis {
		next := int(c.next.Add(1)-1) % len(c.apis)
		if c.avoid[next].Load() < now {
			return next
		}
	}
	return int(c.next.Add(1)-1) % len(c.apis)
}

// recordUnanswered records that a process did not answer a request.
func (c *client) recordUnanswered(q call) {
	c.unanswered.Add(1)
	if c.load.cfg.Failover && q.api > 0 {
		c.avoid[q.api-1].Store(time.Now().Add(avoidTime).UnixNano())
	}
}

// errUnknown means that the outcome of a request is unknown.
var errUnknown = errors.New("it is not known what came of it")

// outcomeUnknown reports whether it is unknown if a request had an effect.
func outcomeUnknown(a *answer, err error) bool {
	return err != nil || a.Status >= 500 || a.Status == http.StatusConflict && a.Error.Details["reason"] == "still_running"
}

// do sends a request. It returns an error if there was no answer or only a part of one.
func (c *client) do(ctx context.Context, q call) (*answer, error) {
	a, err := c.send(ctx, q)
	if outcomeUnknown(a, err) {
		c.lastUnknown.Store(time.Now().UnixNano())
	}
	return a, err
}

func (c *client) send(ctx context.Context, q call) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	q.api = 1 + c.choose(q.api)
	request, err := c.request(ctx, q)
	if err != nil {
		return nil, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		c.recordUnanswered(q)
		return nil, fmt.Errorf("%w: %w", errUnknown, err)
	}
	defer func() { _ = response.Body.Close() }()
	c.answered.Add(1)
	a := &answer{Status: response.StatusCode, Header: response.Header, RequestID: response.Header.Get("X-Request-Id")}
	c.load.requests.add(q, a)
	a.Body, err = io.ReadAll(response.Body)
	c.load.checkLeak(q, a.Body)
	if err != nil {
		return nil, fmt.Errorf("%w: the answer broke off: %w", errUnknown, err)
	}
	if err := a.decode(); err != nil {
		c.load.findings.add(15, "an answer cannot be read", "%s %s: %d %q: %v", q.method, q.path, a.Status, clip(a.Body), err)
		return nil, errUnknown
	}
	if a.Status >= http.StatusInternalServerError {
		c.load.requests.add(q, a)
	}
	c.checkAnswer(q, a)
	return a, nil
}

// oneShotReader is a body that can be read only once: the transport cannot repeat the request,
// which the model would not notice.
type oneShotReader struct{ io.Reader }

func (c *client) request(ctx context.Context, q call) (*http.Request, error) {
	var body io.Reader
	if q.body != nil {
		body = oneShotReader{bytes.NewReader(q.body)}
	}
	request, err := http.NewRequestWithContext(ctx, q.method, c.apis[c.choose(q.api)]+q.path, body)
	if err != nil {
		return nil, err
	}
	if q.body != nil {
		request.ContentLength = int64(len(q.body))
		request.Header.Set("Content-Type", "application/json")
	}
	if q.key.text != "" {
		request.Header.Set("Authorization", "Bearer "+q.key.text)
	}
	if q.workspace == "" && q.key.tenant != nil {
		q.workspace = q.key.tenant.id
	}
	if q.workspace != "" {
		request.Header.Set("X-Workspace-Id", q.workspace)
	}
	if q.key.tenant != nil {
		request.Header.Set("User-Agent", "chaos "+q.key.tenant.canary)
	}
	for name, value := range q.header {
		request.Header.Set(name, value)
	}
	return request, nil
}

func (a *answer) decode() error {
	if len(a.Body) == 0 || a.Header.Get("Content-Type") == "text/event-stream" {
		return nil
	}
	var envelope struct {
		Data  json.RawMessage `json:"data"`
		Error json.RawMessage `json:"error"`
		Meta  json.RawMessage `json:"meta"`
	}
	if err := json.Unmarshal(a.Body, &envelope); err != nil {
		return err
	}
	a.Data = envelope.Data
	for _, part := range []struct {
		raw json.RawMessage
		dst any
	}{{envelope.Error, &a.Error}, {envelope.Meta, &a.Meta}} {
		if len(part.raw) > 0 {
			if err := json.Unmarshal(part.raw, part.dst); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkAnswer checks what applies to all answers: the only 5xx statuses are 502, 503 and 504, with
// Retry-After, and a valid key is not refused.
func (c *client) checkAnswer(q call, a *answer) {
	switch {
	case a.Status == http.StatusInternalServerError && q.refusable && commandOf(a) != uuid.Nil:
	case a.Status >= 500 && !slices.Contains([]int{502, 503, 504}, a.Status):
		c.load.findings.add(
			15, "an answer is a 5xx other than 502, 503 and 504", "%s %s: %d %s %s", q.method, q.path, a.Status, a.RequestID,
			a.Error.Message,
		)
	case a.Status >= 500 && a.Header.Get("Retry-After") == "":
		c.load.findings.add(
			15, "a 502, 503 or 504 has no Retry-After", "%s %s: %d %s %s", q.method, q.path, a.Status, a.RequestID,
			a.Error.Message,
		)
	case !q.errorExpected && (a.Status == http.StatusUnauthorized || a.Status == http.StatusForbidden ||
		a.Status == http.StatusTooManyRequests):
		c.load.findings.add(
			12, "what a key opens is refused", "%s %s with key %s: %d %s %s", q.method, q.path, q.key.id, a.Status, a.RequestID,
			a.Error.Message,
		)
	}
}

// decodeData decodes the data of the answer.
func (a *answer) decodeData(dst any) error {
	if err := json.Unmarshal(a.Data, dst); err != nil {
		return fmt.Errorf("data of request %s: %w", a.RequestID, err)
	}
	return nil
}

// doUntilAnswered repeats an idempotent request until its outcome is known or the round is over.
func (c *client) doUntilAnswered(ctx context.Context, q call) (*answer, error) {
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		a, err := c.do(ctx, q)
		if !outcomeUnknown(a, err) {
			return a, nil
		}
		if err == nil {
			err = fmt.Errorf("%w: %d %s %s", errUnknown, a.Status, a.RequestID, a.Error.Message)
		}
		if !sleep(ctx, wait) {
			return nil, err
		}
	}
}

// clip shortens a body for messages.
func clip(b []byte) string { return string(b[:min(len(b), 300)]) }

// body encodes v as JSON. It panics if v cannot be encoded.
func body(v any) []byte {
	encoded, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("a body of the load's own cannot be encoded: %v", err))
	}
	return encoded
}
