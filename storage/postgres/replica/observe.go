package replica

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/livegraph/livegraph/storage/postgres"
)

// position is a position in the log of a timeline. A server that is promoted begins a new timeline.
type position struct {
	timeline int32
	lsn      int64
}

// includes reports whether a server that has replayed the log up to p has everything before other.
func (p position) includes(other position) bool {
	return p.timeline == other.timeline && p.lsn >= other.lsn
}

// Sizes of the log.
const (
	walPage       = 8192
	walPageHeader = 24
)

// endOfRecord returns the end of the last record before p, where the next one would be written. At the beginning of a
// page, that is before the header of the page, and a replica that has replayed everything is there.
func (p position) endOfRecord() position {
	if p.lsn%walPage == walPageHeader {
		p.lsn -= walPageHeader
	}
	return p
}

// Reasons why the primary answers a read, as labels of metrics.
const (
	reasonBehind      = "behind"      // the replica does not have the newest change of the workspace yet
	reasonLag         = "lagging"     // the replica lags more than the configured maximum
	reasonUnavailable = "unavailable" // a server does not answer, or the replica is not one of this primary
	reasonError       = "error"       // the replica answered with an error
)

// Errors of an observation.
var (
	errLag      = errors.New("the replica lags too much")
	errUnknown  = errors.New("the lag of the replica is not known yet")
	errPromoted = errors.New("the server is not a replica: it is not in recovery")
	errOther    = errors.New("the server is not a replica of the primary: it has another database")
	errTimeline = errors.New("the replica has not followed the primary to its timeline yet")
)

func reasonOf(err error) string {
	if errors.Is(err, errLag) {
		return reasonLag
	}
	return reasonUnavailable
}

// maxSamples is the maximum number of positions of the primary that the replica has not replayed.
const maxSamples = 1000

// sample is a position of the primary at a time.
type sample struct {
	at time.Time
	position
}

// observer measures the lag of the replica: the time since the primary had the position that the replica has.
type observer struct {
	primary, replica *postgres.DB
	maxLag           time.Duration
	pending          []sample  // not replayed, oldest first
	current          time.Time // when the primary had what the replica has; zero: not known
	last             sample    // newest position of the primary
	began            time.Time // of the first observation
	system, database int64     // of the primary
}

// lag returns the lag at a time.
func (o *observer) lag(now time.Time) time.Duration {
	switch {
	case len(o.pending) == 0:
		return 0
	case o.current.IsZero():
		return now.Sub(o.began)
	}
	return now.Sub(o.current)
}

const observePrimary = `SELECT ` + primaryPosition + `,
	(SELECT system_identifier FROM pg_control_system()),
	(SELECT oid::bigint FROM pg_database WHERE datname = current_database())`

// primaryPosition are the columns of the position of a primary. It is at or after the commit of everything that the
// statement sees.
const primaryPosition = `('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::int,
	pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint`

// A timeline is recorded some time after the replica has followed the primary to it. The receiver knows it at once,
// if the role may read statistics (pg_monitor).
const observeReplica = `SELECT pg_is_in_recovery(), GREATEST((SELECT timeline_id FROM pg_control_checkpoint()),
		(SELECT min_recovery_end_timeline FROM pg_control_recovery()), (SELECT received_tli FROM pg_stat_wal_receiver)),
	COALESCE(pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::bigint, 0),
	(SELECT system_identifier FROM pg_control_system()),
	(SELECT oid::bigint FROM pg_database WHERE datname = current_database())`

// observe reads the positions of both servers, and returns that of the replica. The error says why the replica must
// not be used.
func (o *observer) observe(ctx context.Context) (position, error) {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	now := sample{at: time.Now()}
	err := o.primary.Pool().QueryRow(ctx, observePrimary).Scan(&now.timeline, &now.lsn, &o.system, &o.database)
	now.position = now.endOfRecord()
	if err != nil {
		return position{}, postgres.Classify(fmt.Errorf("reading the position of the primary: %w", err))
	}
	o.add(now)
	var (
		recovering       bool
		replayed         position
		system, database int64
	)
	err = o.replica.Pool().QueryRow(ctx, observeReplica).Scan(
		&recovering, &replayed.timeline, &replayed.lsn, &system, &database,
	)
	switch {
	case err != nil:
		return position{}, postgres.Classify(fmt.Errorf("reading the position of the replica: %w", err))
	case system != o.system || database != o.database:
		return position{}, errOther
	case !recovering:
		return position{}, errPromoted
	case replayed.timeline != now.timeline:
		return position{}, errTimeline
	}
	o.replayed(replayed)
	switch {
	case o.lag(time.Now()) > o.maxLag:
		return position{}, errLag
	case o.current.IsZero():
		return position{}, errUnknown
	}
	return replayed, nil
}

// add adds a position of the primary.
func (o *observer) add(s sample) {
	if o.began.IsZero() {
		o.began = s.at
	}
	if s.timeline != o.last.timeline {
		o.pending = nil
	}
	o.last = s
	if len(o.pending) == maxSamples {
		o.pending = o.pending[1:]
	}
	o.pending = append(o.pending, s)
}

// replayed records the position of the replica.
func (o *observer) replayed(p position) {
	n := 0
	for n < len(o.pending) && p.includes(o.pending[n].position) {
		o.current = o.pending[n].at
		n++
	}
	o.pending = o.pending[n:]
}
