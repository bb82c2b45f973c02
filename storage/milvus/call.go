package milvus

import (
	"context"
	"errors"
	"time"

	"github.com/livegraph/livegraph/internal/platform/retry"
)

// How long a call may take, its repetitions included.
const (
	readLimit  = 5 * time.Second
	countLimit = 15 * time.Second
	writeLimit = 30 * time.Second // of one call; an Upsert may be many
	makeLimit  = 30 * time.Second
	// Milvus standalone needs 26 s for a collection after a crash.
	loadLimit  = 2 * time.Minute
	flushLimit = time.Minute
	statePoll  = 50 * time.Millisecond // between two looks at a load or a flush
)

// Everything here may be done twice, so what fails for a moment is tried again.
const (
	attempts   = 3
	pauseFirst = 100 * time.Millisecond
	pauseMost  = time.Second
)

// do runs an operation of one or more calls within a limit, repeats it while the server
// is unavailable for a moment, and gives its error a kind.
func (db *DB) do(ctx context.Context, operation string, limit time.Duration, call func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	limited, span := db.start(limited, operation)
	began := time.Now()
	err := db.repeat(limited, call)
	db.metrics.observe(operation, began, err)
	if err != nil && ctx.Err() != nil { // the caller's end, not ours
		err = errors.Join(ctx.Err(), err)
	}
	err = classify(ctx, err)
	end(span, err)
	return err
}

// repeat tries a call again, with growing pauses, while its error is one that passes.
func (db *DB) repeat(ctx context.Context, call func(context.Context) error) error {
	pace := retry.New(pauseFirst, pauseMost)
	for attempt := 1; ; attempt++ {
		err := call(ctx)
		if err == nil || attempt == attempts || !passing(err) {
			return err
		}
		if !pace.Wait(ctx) {
			return err
		}
	}
}

// turn waits until nobody else writes to a collection: milvus-lite is not safe for
// several writers. The caller calls what it gives.
func (db *DB) turn(ctx context.Context, name string) (func(), error) {
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
