package postgres

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// settings reads the URL, and the TLS files that it names. An error never holds the
// URL, and with it the password; it is Invalid, because trying again is of no use.
func settings(url string) (*pgxpool.Config, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err == nil {
		cfg.BeforeConnect = (&renewal{url: url, last: cfg.ConnConfig}).apply
		return cfg, nil
	}
	var parse *pgconn.ParseConfigError
	if errors.As(err, &parse) && strings.Contains(err.Error(), "failed to configure TLS") {
		return nil, fault.New(fault.Invalid, "the TLS settings of the Postgres URL cannot be used").Because(parse.Unwrap())
	}
	return nil, fault.New(fault.Invalid, "the Postgres URL cannot be read")
}

// CheckURL checks that a URL and the TLS files that it names can be read.
func CheckURL(url string) error {
	_, err := settings(url)
	return err
}

// renewal reads the TLS files that the URL names for each new connection, so that a
// certificate that was renewed in place is used without a restart. Files that cannot
// be used, as between two writes, change nothing.
type renewal struct {
	url string

	mu     sync.Mutex
	last   *pgx.ConnConfig // with files that could be used
	broken bool            // said already
}

// apply is the pool's BeforeConnect.
func (r *renewal) apply(ctx context.Context, cfg *pgx.ConnConfig) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	fresh, err := pgx.ParseConfig(r.url)
	switch {
	case err == nil:
		r.last, r.broken = fresh, false
	case !r.broken:
		r.broken = true
		slog.WarnContext(ctx, "the TLS files of the Postgres URL cannot be used any more; those of before stay in force",
			"error", errors.Unwrap(err))
	}
	cfg.TLSConfig, cfg.Fallbacks = r.last.TLSConfig, r.last.Fallbacks
	return nil
}
