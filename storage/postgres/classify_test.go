package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

func TestDriverErrorsGetTheirKind(t *testing.T) {
	state := func(code string) error { return fmt.Errorf("querying: %w", &pgconn.PgError{Code: code}) }
	for _, c := range []struct {
		err  error
		kind fault.Kind
	}{
		{state("08006"), fault.Unavailable}, {state("53300"), fault.Unavailable}, {state("57P01"), fault.Unavailable},
		{state("57P03"), fault.Unavailable},
		{state("25006"), fault.Unavailable}, {state("40001"), fault.Unavailable}, {state("40P01"), fault.Unavailable},
		{state("55P03"), fault.Unavailable},
		{state("25P03"), fault.Unavailable}, {state("58030"), fault.Unavailable}, {state("25P02"), fault.Internal},
		{fmt.Errorf("x: %w", pgx.ErrTxClosed), fault.Unavailable}, {pgx.ErrTxCommitRollback, fault.Unavailable},
		{state("57014"), fault.Timeout}, {state("23505"), fault.Internal}, {state("42601"), fault.Internal},
		{&net.OpError{Op: "dial", Err: errors.New("refused")}, fault.Unavailable}, {io.ErrUnexpectedEOF, fault.Unavailable},
		{errors.New("unexpected"), fault.Internal}, {fault.New(fault.Conflict, "x"), fault.Conflict},
	} {
		require.Equal(t, c.kind, fault.KindOf(Classify(c.err)), "%v", c.err)
	}
	require.NoError(t, Classify(nil))
	require.ErrorIs(t, Classify(context.Canceled), context.Canceled)
	require.True(t, Violates(
		fmt.Errorf("x: %w", &pgconn.PgError{Code: "23505", ConstraintName: "sources_name"}), "sources_name",
	))
	require.False(t, Violates(state("23505"), "sources_name"))
}
