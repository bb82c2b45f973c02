package graphstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/livegraph/livegraph/storage/postgres"
)

// graphConn is the connection of a group. What is sent later is on its way while the
// group goes on being decided; everything else waits until it has arrived.
type graphConn struct {
	*pgxpool.Conn
	arrived chan struct{} // nil: nothing is on its way; closed when it has arrived
	failed  error         // of something that was sent later: the transaction is lost
}

// sendLater sends a batch in the background. check is called when it is done.
func (c *graphConn) sendLater(ctx context.Context, b *pgx.Batch, check func() error) error {
	if err := c.settle(); err != nil {
		return err
	}
	arrived := make(chan struct{})
	c.arrived = arrived
	go func() {
		defer close(arrived)
		err := c.Conn.SendBatch(ctx, b).Close()
		if err == nil {
			err = check()
		}
		if err != nil {
			c.failed = fmt.Errorf("writing what was decided so far: %w", err)
		}
	}()
	return nil
}

// settle waits for what is on its way.
func (c *graphConn) settle() error {
	if c.arrived != nil {
		<-c.arrived
		c.arrived = nil
	}
	return c.failed
}

// send sends a batch and waits for its answers.
func (c *graphConn) send(ctx context.Context, b *pgx.Batch) error {
	if err := c.settle(); err != nil {
		return err
	}
	return c.Conn.SendBatch(ctx, b).Close()
}

func (c *graphConn) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if err := c.settle(); err != nil {
		return nil, err
	}
	return c.Conn.Query(ctx, sql, args...)
}

func (c *graphConn) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	if err := c.settle(); err != nil {
		return failedRow{err}
	}
	return c.Conn.QueryRow(ctx, sql, args...)
}

func (c *graphConn) Exec(ctx context.Context, sql string, args ...any) (postgres.CommandTag, error) {
	if err := c.settle(); err != nil {
		return postgres.CommandTag{}, err
	}
	return c.Conn.Exec(ctx, sql, args...)
}

// failedRow is a row that was not asked for.
type failedRow struct{ err error }

func (r failedRow) Scan(...any) error { return r.err }
