package milvus

import (
	"context"
	"errors"
	"time"

	"github.com/livegraph/livegraph/internal/platform/retry"
)

// Time limits of operations, including retries.
const (
	readLimit   = 5 * time.Second
	countLimit  = 15 * time.Second
	writeLimit  = 30 * time.Second // of one call; an Upsert may make several
	createLimit = 30 * time.Second
	// Milvus standalone needs 26 s for a collection after a crash.
	loadLimit  = 2 * time.Minute
	flushLimit = time.Minute
	statePoll  = 50 * time.Millisecond // poll interval of a load or a flush
)

// All operations are idempotent, so transient errors are retried.
const (
	attempts      = 3
	minRetryDelay = 100 * time.Millisecond
	maxRetryDelay = time.Second
)

// do runs an operation of one or more calls with a timeout. It retries transient errors, records
// metrics and a span, and returns an error with a kind.
func (db *DB) do(ctx context.Context, operation string, limit time.Duration, call func(context.Context) error) error {
	callCtx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	callCtx, span := db.start(callCtx, operation)
	began := time.Now()
	err := db.withRetries(callCtx, call)
	db.metrics.observe(operation, began, err)
	if err != nil && ctx.Err() != nil { // the caller's context ended, not the timeout
		err = errors.Join(ctx.Err(), err)
	}
	err = classify(ctx, err)
	end(span, err)
	return err
}

// withRetries runs a call and retries it with increasing delays while its error is transient.
func (db *DB) withRetries(ctx context.Context, call func(context.Context) error) error {
	delays := retry.New(minRetryDelay, maxRetryDelay)
	for attempt := 1; ; attempt++ {
		err := call(ctx)
		if err == nil || attempt == attempts || !isTransient(err) {
			return err
		}
		if !delays.Wait(ctx) {
			return err
		}
	}
}

// lock acquires the write lock of a collection: milvus-lite does not support concurrent writers. The
// caller must call the returned function to release it.
func (db *DB) lock(ctx context.Context, name string) (func(), error) {
	db.mu.Lock()
	writer, ok := db.writers[name]
	if !ok {
		writer = make(chan struct{}, 1)
		db.writers[name] = writer
	}
	db.mu.Unlock()
	select {
	case writer <- struct{}{}:
		return func() { <-writer }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
