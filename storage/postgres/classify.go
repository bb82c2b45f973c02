package postgres

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// SQLSTATE codes that are handled individually.
// https://www.postgresql.org/docs/current/errcodes-appendix.html
const (
	codeUniqueViolation = "23505"
	codeSerialization   = "40001"
	codeDeadlock        = "40P01"
	codeLockTimeout     = "55P03"
	codeQueryCanceled   = "57014"
	codeReadOnly        = "25006"
	codeIdleTransaction = "25P03" // the transaction was idle for too long, for example while this process was suspended
	codeTransactionTime = "25P04"
)

// RetryAfter is how long callers wait before they retry while Postgres is unavailable.
const RetryAfter = time.Second

// Classify adds a kind to an error of the driver: Unavailable if Postgres cannot be
// reached or is overloaded, Timeout if a statement took too long. It returns other errors
// unchanged: those that already have a kind, the caller's deadline or cancellation, and
// unexpected errors (Internal).
func Classify(err error) error {
	var fe *fault.Error
	if err == nil || errors.As(err, &fe) {
		return err
	}
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		return classifyCode(err, pgErr.Code)
	}
	var connectErr *pgconn.ConnectError
	if errors.As(err, &connectErr) {
		return unavailable(err)
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return err
	}
	var netErr net.Error
	if errors.As(err, &netErr) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, pgx.ErrTxClosed) || errors.Is(err, pgx.ErrTxCommitRollback) ||
		strings.Contains(err.Error(), "conn closed") || strings.Contains(err.Error(), "closed pool") {
		return unavailable(err)
	}
	return err
}

func classifyCode(err error, code string) error {
	switch {
	case code == codeQueryCanceled:
		return fault.Wrap(err, fault.Timeout, "The database took too long").After(RetryAfter)
	case code == codeSerialization, code == codeDeadlock, code == codeLockTimeout, code == codeReadOnly,
		code == codeIdleTransaction, code == codeTransactionTime,
		strings.HasPrefix(code, "08"), // connection exceptions
		strings.HasPrefix(code, "53"), // insufficient resources
		strings.HasPrefix(code, "57"), // shutdown, crash recovery
		strings.HasPrefix(code, "58"): // system errors, such as disk errors
		return unavailable(err)
	}
	return err
}

// IsDataError reports whether an error is caused by the data that is read or written and
// would therefore recur on a retry: data that a table rejects or that cannot be read. It
// is false if the database is unavailable, busy or of another version.
func IsDataError(err error) bool {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		// data exceptions, constraints, limits of the server
		for _, class := range []string{"22", "23", "54"} {
			if strings.HasPrefix(pgErr.Code, class) {
				return true
			}
		}
		return false
	}
	return fault.KindOf(Classify(err)) == fault.Internal && !errors.Is(err, context.Canceled) &&
		!errors.Is(err, context.DeadlineExceeded)
}

func unavailable(err error) error {
	return fault.Wrap(err, fault.Unavailable, "The database is not available").After(RetryAfter)
}

// Violates reports whether err is a violation of the named unique constraint or index.
func Violates(err error, constraint string) bool {
	var pgErr *pgconn.PgError
	return errors.As(err, &pgErr) && pgErr.Code == codeUniqueViolation && pgErr.ConstraintName == constraint
}
