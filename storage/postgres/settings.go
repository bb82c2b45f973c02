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

// parseConfig parses the URL and reads the TLS files that it names. An error never
// contains the URL, because that contains the password. It is Invalid, because a retry
// cannot succeed.
func parseConfig(url string) (*pgxpool.Config, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err == nil {
		cfg.BeforeConnect = (&tlsReloader{url: url, last: cfg.ConnConfig}).apply
		return cfg, nil
	}
	var parse *pgconn.ParseConfigError
	if errors.As(err, &parse) && strings.Contains(err.Error(), "failed to configure TLS") {
		return nil, fault.New(fault.Invalid, "the TLS settings of the Postgres URL cannot be used").Because(parse.Unwrap())
	}
	return nil, fault.New(fault.Invalid, "the Postgres URL cannot be read")
}

// CheckURL returns an error if a URL or the TLS files that it names cannot be read.
func CheckURL(url string) error {
	_, err := parseConfig(url)
	return err
}

// tlsReloader reads the TLS files that the URL names for each new connection, so that a
// renewed certificate is used without a restart. If the files are invalid, for example
// between two writes, connections use the last valid ones.
type tlsReloader struct {
	url string

	mu     sync.Mutex
	last   *pgx.ConnConfig // with the last valid files
	warned bool            // the current failure is logged already
}

// apply implements BeforeConnect of the pool.
func (r *tlsReloader) apply(ctx context.Context, cfg *pgx.ConnConfig) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	fresh, err := pgx.ParseConfig(r.url)
	switch {
	case err == nil:
		r.last, r.warned = fresh, false
	case !r.warned:
		r.warned = true
		slog.WarnContext(ctx, "the TLS files of the Postgres URL are invalid; connections use the last valid ones",
			"error", errors.Unwrap(err))
	}
	cfg.TLSConfig, cfg.Fallbacks = r.last.TLSConfig, r.last.Fallbacks
	return nil
}
