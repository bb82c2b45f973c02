// Package idempotency makes requests that a client may repeat: by the header
// Idempotency-Key a second request is told from a repetition of the first.
//
// A request with a key claims it before it has any effect, and reserves with it what
// makes a repetition have the same effect instead of a second one: the id of a
// command or a source, and the time of receipt. So it does not matter where the first
// try ended, a crash included: anyone who repeats it goes on with what is reserved.
// Answers of 2xx, 404, 409 and 422 are kept for 24 hours and given again.
package idempotency

import (
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

// Header is the request's, Replayed the one of an answer that was given before.
const (
	Header   = "Idempotency-Key"
	Replayed = "Idempotent-Replayed"
)

const (
	maxKey = 255 // characters
	// settleTimeout bounds the note of what came of a request, made also when the
	// client has gone.
	settleTimeout = 3 * time.Second
	pruneEvery    = time.Minute
	pruneAtOnce   = 5000
)

// store is where keys are.
type store interface {
	ClaimIdempotencyKey(
		ctx context.Context, want access.IdempotencyClaim, hold time.Duration,
	) (access.IdempotencyClaim, error)
	AnswerIdempotencyKey(ctx context.Context, c access.IdempotencyClaim, answer []byte) error
	ReleaseIdempotencyKey(ctx context.Context, c access.IdempotencyClaim) error
	ForgetIdempotencyKey(ctx context.Context, c access.IdempotencyClaim) error
	PruneIdempotencyKeys(ctx context.Context, most int) (int64, error)
}

// Keeper keeps the keys.
type Keeper struct {
	store store
	log   *slog.Logger
	uses  *prometheus.CounterVec
}

// What a use of a key turns out to be, for the metrics.
const (
	useFirst    = "first"
	useResumed  = "resumed"
	useReplayed = "replayed"
	useOther    = "other_body"
	useRunning  = "running"
)

// New creates a Keeper. The registerer may be nil.
func New(keys store, log *slog.Logger, registerer prometheus.Registerer) *Keeper {
	k := &Keeper{store: keys, log: log, uses: promauto.With(registerer).NewCounterVec(prometheus.CounterOpts{
		Name: "livegraph_idempotency_keys_total",
		Help: "Requests with an Idempotency-Key: first, resumed (the one before ended without an answer that is kept), " +
			"replayed (answered as before), other_body (422), running (409).",
	}, []string{"use"})}
	for _, use := range []string{useFirst, useResumed, useReplayed, useOther, useRunning} {
		k.uses.WithLabelValues(use)
	}
	return k
}

// Run removes keys that mean nothing any more, until ctx is done.
func (k *Keeper) Run(ctx context.Context) error {
	tick := time.NewTicker(pruneEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		for {
			pruned, err := k.store.PruneIdempotencyKeys(ctx, pruneAtOnce)
			if err != nil && ctx.Err() == nil {
				k.log.Warn("old idempotency keys cannot be removed", "error", err)
			}
			if err != nil || pruned < pruneAtOnce {
				break
			}
		}
	}
}

// Use is what a route says of a request whose key it claims.
type Use struct {
	Route string
	// Asked is all that tells one request from another: the body and what else has a
	// meaning.
	Asked [][]byte
	// NewID makes the id to reserve.
	NewID func() uuid.UUID
	// Hold is the longest time that the request may take.
	Hold time.Duration
}

// Claim is a key that a request has. The nil Claim is that of a request without one:
// nothing is kept then.
type Claim struct {
	keeper *Keeper
	claim  access.IdempotencyClaim
}

// Begin claims the request's key, nil if it has none. It is fault.Malformed for a key
// of the wrong form, and Invalid for one that was used for something else.
func (k *Keeper) Begin(r *http.Request, use Use) (*Claim, error) {
	key, given, err := keyOf(r.Header)
	if err != nil || !given {
		return nil, err
	}
	principal := request.PrincipalOf(r.Context())
	want := access.IdempotencyClaim{
		IdempotencyKey: access.IdempotencyKey{
			Workspace: principal.Workspace, Actor: principal.ActorID, Route: use.Route, Key: key,
		},
		BodyHash: hash(use.Asked), ReservedID: use.NewID(), ReceivedAt: time.Now().UTC().Truncate(time.Microsecond),
	}
	found, err := k.store.ClaimIdempotencyKey(r.Context(), want, use.Hold)
	if err != nil {
		return nil, err
	}
	if found.BodyHash != want.BodyHash {
		k.uses.WithLabelValues(useOther).Inc()
		return nil, fault.Field(fault.Invalid, Header, "was used for another request")
	}
	switch {
	case found.Held && found.Attempt == 1:
		k.uses.WithLabelValues(useFirst).Inc()
	case found.Held:
		k.uses.WithLabelValues(useResumed).Inc()
	}
	return &Claim{keeper: k, claim: found}, nil
}

// keyOf reads the header.
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

// hash reports what was asked for, each part apart from the next.
func hash(parts [][]byte) (sum [32]byte) {
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

// Held reports that the request is the one to do what is asked for. Else it is done, or
// somebody else is at it: see Replay.
func (c *Claim) Held() bool { return c.claim.Held }

// Resumed reports that somebody held the key before, and may have had an effect.
func (c *Claim) Resumed() bool { return c.claim.Attempt > 1 }

// Stored returns what the store knows the claim by.
func (c *Claim) Stored() access.IdempotencyClaim { return c.claim }

// Replay returns what the first request was answered, and marks the answer as not the
// first; Conflict with a Retry-After while that one still runs.
func (c *Claim) Replay(w http.ResponseWriter) (*Answer, error) {
	if c.claim.Answer == nil {
		c.keeper.uses.WithLabelValues(useRunning).Inc()
		return nil, fault.New(fault.Conflict, "A request with this Idempotency-Key still runs").
			With("field", Header).With("reason", "still_running").After(time.Second)
	}
	answer, err := decode(c.claim.Answer)
	if err == nil {
		c.MarkReplayed(w)
	}
	return answer, err
}

// MarkReplayed says in the answer that it is not the first.
func (c *Claim) MarkReplayed(w http.ResponseWriter) {
	c.keeper.uses.WithLabelValues(useReplayed).Inc()
	w.Header().Set(Replayed, "true")
}

// Kept reports whether an error is an answer that is kept.
func Kept(err error) bool {
	switch reply.Public(err).Kind {
	case fault.NotFound, fault.Conflict, fault.Invalid:
		return true
	}
	return false
}

// Keep notes the answer of the request.
func (c *Claim) Keep(ctx context.Context, answer Answer) {
	c.settle(ctx, func(ctx context.Context) error {
		encoded, err := answer.Encode()
		if err != nil {
			return err
		}
		return c.keeper.store.AnswerIdempotencyKey(ctx, c.claim, encoded)
	})
}

// Release reports that it is not known what came of the request: a repetition goes on.
func (c *Claim) Release(ctx context.Context) {
	c.settle(ctx, func(ctx context.Context) error { return c.keeper.store.ReleaseIdempotencyKey(ctx, c.claim) })
}

// Forget reports that the request had no effect, and that its answer is not kept.
func (c *Claim) Forget(ctx context.Context) {
	c.settle(ctx, func(ctx context.Context) error { return c.keeper.store.ForgetIdempotencyKey(ctx, c.claim) })
}

// Fail notes an error as the answer: one that is kept is, what was refused as
// unreadable or not allowed is forgotten, and otherwise a repetition goes on.
func (c *Claim) Fail(ctx context.Context, err error) {
	switch kind := reply.Public(err).Kind; {
	case Kept(err):
		c.Keep(ctx, Answer{Err: err})
	case reply.Status(err) < http.StatusInternalServerError && kind != fault.RateLimited:
		c.Forget(ctx)
	default:
		c.Release(ctx)
	}
}

// settle notes what came of the request, if it has a key. Where that fails, the hold
// runs out, and a repetition goes on.
func (c *Claim) settle(ctx context.Context, note func(context.Context) error) {
	if c == nil || !c.claim.Held {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	if err := note(ctx); err != nil {
		c.keeper.log.WarnContext(ctx, "what came of a request cannot be noted under its idempotency key", "error", err)
	}
}
