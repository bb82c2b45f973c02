package graphstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/livegraph/livegraph/storage/postgres"
)

// graphConn is the connection of a group. A batch sent with sendLater is written in the
// background while further commands of the group are decided. Every other method waits for
// it first.
type graphConn struct {
	*pgxpool.Conn
	pending    chan struct{} // closed when the background batch is complete; nil: there is none
	pendingErr error         // of a background batch: the transaction has failed
}

// sendLater sends a batch in the background and calls check after it succeeds.
func (c *graphConn) sendLater(ctx context.Context, b *pgx.Batch, check func() error) error {
	if err := c.waitPending(); err != nil {
		return err
	}
	pending := make(chan struct{})
	c.pending = pending
	go func() {
		defer close(pending)
		err := c.Conn.SendBatch(ctx, b).Close()
		if err == nil {
			err = check()
		}
		if err != nil {
			c.pendingErr = fmt.Errorf("writing what was decided so far: %w", err)
		}
	}()
	return nil
}

// waitPending waits for the background batch and returns the first error of such batches.
func (c *graphConn) waitPending() error {
	if c.pending != nil {
		<-c.pending
		c.pending = nil
	}
	return c.pendingErr
}

// send sends a batch and waits for its results.
func (c *graphConn) send(ctx context.Context, b *pgx.Batch) error {
	if err := c.waitPending(); err != nil {
		return err
	}
	return c.Conn.SendBatch(ctx, b).Close()
}

func (c *graphConn) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if err := c.waitPending(); err != nil {
		return nil, err
	}
	return c.Conn.Query(ctx, sql, args...)
}

func (c *graphConn) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	if err := c.waitPending(); err != nil {
		return failedRow{err}
	}
	return c.Conn.QueryRow(ctx, sql, args...)
}

func (c *graphConn) Exec(ctx context.Context, sql string, args ...any) (postgres.CommandTag, error) {
	if err := c.waitPending(); err != nil {
		return postgres.CommandTag{}, err
	}
	return c.Conn.Exec(ctx, sql, args...)
}

// failedRow is the row of a query that was not sent.
type failedRow struct{ err error }

func (r failedRow) Scan(...any) error { return r.err }
