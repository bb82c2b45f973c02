// Package idempotency implements the header Idempotency-Key, with which clients can safely
// retry requests.
//
// A request with a key claims the key before it has any effect. With the key it reserves the
// id of a command or a source, and the time of receipt. A retry uses the reserved values and
// therefore has the same effect instead of a second one, wherever the first request failed,
// including by a crash. Responses with status 2xx, 404, 409 and 422 are stored for 24 hours and
// replayed.
package idempotency

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres/access"
)

// Header is the request header with the key. Replayed is the response header of a replayed
// response.
const (
	Header   = "Idempotency-Key"
	Replayed = "Idempotent-Replayed"
)

const (
	maxKey = 255 // characters
	// settleTimeout bounds storing the result of a request, which is also done after the
	// client has disconnected.
	settleTimeout = 3 * time.Second
	pruneInterval = time.Minute
	pruneBatch    = 5000
)

// store reads and writes keys.
type store interface {
	ClaimIdempotencyKey(
		ctx context.Context, want access.IdempotencyClaim, hold time.Duration,
	) (access.IdempotencyClaim, error)
	AnswerIdempotencyKey(ctx context.Context, c access.IdempotencyClaim, answer []byte) error
	ReleaseIdempotencyKey(ctx context.Context, c access.IdempotencyClaim) error
	DeleteIdempotencyKey(ctx context.Context, c access.IdempotencyClaim) error
	PruneIdempotencyKeys(ctx context.Context, most int) (int64, error)
}

// Manager claims keys and stores the responses to their requests.
type Manager struct {
	store store
	log   *slog.Logger
	uses  *prometheus.CounterVec
}

// Values of the metric label use.
const (
	useFirst    = "first"
	useResumed  = "resumed"
	useReplayed = "replayed"
	useOther    = "other_body"
	useRunning  = "running"
)

// New creates a Manager. The registerer may be nil.
func New(keys store, log *slog.Logger, registerer prometheus.Registerer) *Manager {
	k := &Manager{store: keys, log: log, uses: promauto.With(registerer).NewCounterVec(prometheus.CounterOpts{
		Name: "livegraph_idempotency_keys_total",
		Help: "Total number of requests with an Idempotency-Key by use: first, resumed (the previous attempt ended without " +
			"a stored response), replayed (the stored response was returned), other_body (422), running (409).",
	}, []string{"use"})}
	for _, use := range []string{useFirst, useResumed, useReplayed, useOther, useRunning} {
		k.uses.WithLabelValues(use)
	}
	return k
}

// Run removes expired keys until ctx is done.
func (k *Manager) Run(ctx context.Context) error {
	tick := time.NewTicker(pruneInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		for {
			pruned, err := k.store.PruneIdempotencyKeys(ctx, pruneBatch)
			if err != nil && ctx.Err() == nil {
				k.log.Warn("old idempotency keys cannot be removed", "error", err)
			}
			if err != nil || pruned < pruneBatch {
				break
			}
		}
	}
}

// Operation describes the request for which a key is claimed.
type Operation struct {
	Route string
	// Content contains the body and all parameters that distinguish one request from another.
	Content [][]byte
	// NewID creates the id to reserve; nil: a UUID of version 7.
	NewID func() uuid.UUID
	// HoldTimeout is how long the request holds the key, at most. After that a retry may take over. 0: 30 s.
	HoldTimeout time.Duration
}

// defaultHold is how long a request whose work is one transaction holds its key, at most.
const defaultHold = 30 * time.Second

func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

// Claim is the claim of a request on its key. A request without a key has a nil Claim, for
// which nothing is stored.
type Claim struct {
	manager *Manager
	claim   access.IdempotencyClaim
}

// Once sends the response of work, or that of the first request with the same key. work gets the claim, nil for a
// request without a key, and stores the response under it in the transaction of its effect.
func (k *Manager) Once(
	w http.ResponseWriter, r *http.Request, use Operation, work func(context.Context, *Claim) (Answer, error),
) error {
	claim, err := k.Begin(r, use)
	if err != nil {
		return err
	}
	if claim != nil && !claim.Held() {
		return claim.SendPrevious(w, r)
	}
	answer, err := work(r.Context(), claim)
	if err != nil {
		claim.Fail(r.Context(), err)
		return err
	}
	return answer.Send(w, r)
}

// Begin claims the request's key. It returns nil if there is none. The error is Malformed for a
// key in the wrong format, and Invalid for a key that was used for another request.
func (k *Manager) Begin(r *http.Request, use Operation) (*Claim, error) {
	if use.NewID == nil {
		use.NewID = newID
	}
	use.HoldTimeout = cmp.Or(use.HoldTimeout, defaultHold)
	key, given, err := keyOf(r.Header)
	if err != nil || !given {
		return nil, err
	}
	principal := request.PrincipalOf(r.Context())
	wanted := access.IdempotencyClaim{
		IdempotencyKey: access.IdempotencyKey{
			Workspace: principal.Workspace, Actor: principal.ActorID, Route: use.Route, Key: key,
		},
		BodyHash: hashParts(use.Content), ReservedID: use.NewID(), ReceivedAt: time.Now().UTC().Truncate(time.Microsecond),
	}
	found, err := k.store.ClaimIdempotencyKey(r.Context(), wanted, use.HoldTimeout)
	if err != nil {
		return nil, err
	}
	if found.BodyHash != wanted.BodyHash {
		k.uses.WithLabelValues(useOther).Inc()
		return nil, fault.Field(fault.Invalid, Header, "was used for another request")
	}
	switch {
	case found.Held && found.Attempt == 1:
		k.uses.WithLabelValues(useFirst).Inc()
	case found.Held:
		k.uses.WithLabelValues(useResumed).Inc()
	}
	return &Claim{manager: k, claim: found}, nil
}

// keyOf parses the header.
func keyOf(h http.Header) (key string, given bool, err error) {
	values := h.Values(Header)
	switch len(values) {
	case 0:
		return "", false, nil
	case 1:
		key = values[0]
	default:
		return "", false, fault.Field(fault.Malformed, Header, "is given more than once")
	}
	switch {
	case key == "":
		return "", false, fault.Field(fault.Malformed, Header, "must not be empty")
	case len(key) > maxKey:
		return "", false, fault.Field(fault.Malformed, Header, "must have at most 255 characters").With("limit", maxKey)
	case strings.ContainsFunc(key, func(c rune) bool { return c < '!' || c > '~' }):
		return "", false, fault.Field(fault.Malformed, Header, "must have visible characters of ASCII only")
	}
	return key, true, nil
}

// hashParts returns the SHA-256 hash of the parts, each prefixed with its length.
func hashParts(parts [][]byte) (sum [32]byte) {
	h := sha256.New()
	for _, part := range parts {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		h.Write(size[:])
		h.Write(part)
	}
	h.Sum(sum[:0])
	return sum
}

// ID returns the reserved id.
func (c *Claim) ID() uuid.UUID { return c.claim.ReservedID }

// ReceivedAt returns the time of receipt, to the microsecond.
func (c *Claim) ReceivedAt() time.Time { return c.claim.ReceivedAt }

// Held reports whether the request holds the key and must be executed. Otherwise another
// request has completed or is still running: see Replay.
func (c *Claim) Held() bool { return c.claim.Held }

// Resumed reports whether another request held the key before, which may have had an effect.
func (c *Claim) Resumed() bool { return c.claim.Attempt > 1 }

// Record returns the claim in the form of the store.
func (c *Claim) Record() access.IdempotencyClaim { return c.claim }

// Replay returns the response to the first request and marks it as replayed. While that
// request is still running, it returns a Conflict error with a Retry-After.
func (c *Claim) Replay(w http.ResponseWriter) (*Answer, error) {
	if c.claim.Answer == nil {
		c.manager.uses.WithLabelValues(useRunning).Inc()
		return nil, fault.New(fault.Conflict, "A request with this Idempotency-Key still runs").
			With("field", Header).With("reason", "still_running").After(time.Second)
	}
	answer, err := decode(c.claim.Answer)
	if err == nil {
		c.MarkReplayed(w)
	}
	return answer, err
}

// SendPrevious sends the response that Replay returns.
func (c *Claim) SendPrevious(w http.ResponseWriter, r *http.Request) error {
	answer, err := c.Replay(w)
	if err != nil {
		return err
	}
	return answer.Send(w, r)
}

// MarkReplayed sets the header that marks the response as replayed.
func (c *Claim) MarkReplayed(w http.ResponseWriter) {
	c.manager.uses.WithLabelValues(useReplayed).Inc()
	w.Header().Set(Replayed, "true")
}

// IsStored reports whether the response for an error is stored.
func IsStored(err error) bool {
	switch reply.Public(err).Kind {
	case fault.NotFound, fault.Conflict, fault.Invalid:
		return true
	}
	return false
}

// Complete stores the response to the request.
func (c *Claim) Complete(ctx context.Context, answer Answer) {
	c.settle(ctx, func(ctx context.Context) error {
		encoded, err := answer.Encode()
		if err != nil {
			return err
		}
		return c.manager.store.AnswerIdempotencyKey(ctx, c.claim, encoded)
	})
}

// Release releases the key of a request whose result is unknown, so that a retry can resume it.
func (c *Claim) Release(ctx context.Context) {
	c.settle(ctx, func(ctx context.Context) error { return c.manager.store.ReleaseIdempotencyKey(ctx, c.claim) })
}

// Forget deletes the key of a request that had no effect and whose response is not stored.
func (c *Claim) Forget(ctx context.Context) {
	c.settle(ctx, func(ctx context.Context) error { return c.manager.store.DeleteIdempotencyKey(ctx, c.claim) })
}

// Fail completes the request with an error: it stores the response if Kept, forgets the key if
// the request was refused with another status below 500 except a rate limit, and otherwise
// releases the key.
func (c *Claim) Fail(ctx context.Context, err error) {
	switch kind := reply.Public(err).Kind; {
	case IsStored(err):
		c.Complete(ctx, Answer{Err: err})
	case reply.Status(err) < http.StatusInternalServerError && kind != fault.RateLimited:
		c.Forget(ctx)
	default:
		c.Release(ctx)
	}
}

// settle stores the result of the request, if it holds a key. If that fails, the hold expires,
// and a retry resumes the request.
func (c *Claim) settle(ctx context.Context, write func(context.Context) error) {
	if c == nil || !c.claim.Held {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	if err := write(ctx); err != nil {
		c.manager.log.WarnContext(ctx, "the outcome of a request cannot be stored under its idempotency key", "error", err)
	}
}
