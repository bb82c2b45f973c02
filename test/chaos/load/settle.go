package load

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"
)

const (
	// settleTimeout bounds the time in which the environment catches up after the faults.
	settleTimeout = 8 * time.Minute
	settlePause   = 100 * time.Millisecond
)

// The topics, without their prefix.
const (
	pointsTopic   = "points"
	commandsTopic = "graph.commands"
	eventsTopic   = "graph.events"
)

var errBehind = errors.New("the environment does not catch up")

// step is a condition that Settle waits for.
type step struct {
	what        string
	do          func(context.Context, Stores) error
	waitTimeout time.Duration
	invariant   int // that is violated when the time runs out; 0: Settle fails
}

// Settle waits until nothing is pending: all processes answer, the unknown outcomes are resolved,
// all consumers have consumed the log, and the search index contains the graph. All faults must
// have ended and Run must have returned. A step that does not finish in time is usually a
// violation, which Check returns, since the remaining steps can be checked all the same. Settle
// returns an error if they cannot.
func (l *Load) Settle(ctx context.Context, stores Stores) error {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	defer l.logProgress(ctx, "settled")
	for _, s := range []step{
		{"processes are ready", l.awaitReady, settleTimeout, 0},
		{"requests are resolved", l.resolve, 3 * time.Minute, 4},
		{"dead letters are put back", l.redriveAll, 3 * time.Minute, 4},
		// By now, processes have finished the requests whose callers gave up.
		{"requests have ended", l.awaitQuiet, settleTimeout, 0},
		{"points are stored", poll(pointsStored), 3 * time.Minute, 1},
		{"points are deleted", poll(pointsDeleted), 3 * time.Minute, 3},
		{"commands are decided", poll(commandsDecided), 3 * time.Minute, 4},
		{"changes are published", poll(l.published), 3 * time.Minute, 5},
		{"changes are indexed", poll(l.indexed), 3 * time.Minute, 13},
		{"events are read", l.readEvents, 2 * time.Minute, 5},
	} {
		if err := l.await(ctx, stores, s); err != nil {
			return err
		}
	}
	return nil
}

func (l *Load) await(ctx context.Context, stores Stores, s step) error {
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, s.waitTimeout)
	defer cancel()
	err := s.do(limited, stores)
	l.addDuration(s.what, began)
	switch {
	case err == nil:
		return nil
	case s.invariant == 0 || ctx.Err() != nil:
		return fmt.Errorf("%w: waiting until %s: %w", errBehind, s.what, err)
	}
	l.findings.add(
		s.invariant, "it does not come that "+s.what, "after %s: %v", time.Since(began).Round(time.Millisecond), err,
	)
	return nil
}

// awaitQuiet waits until the last request with an unknown outcome is older than the quiet period.
func (l *Load) awaitQuiet(ctx context.Context, _ Stores) error {
	sleep(ctx, l.quietPeriod-time.Since(time.Unix(0, l.client.lastUnknown.Load())))
	return ctx.Err()
}

// poll returns a function that repeats check until it returns no missing item.
func poll(check func(context.Context, Stores) (missing string, err error)) func(context.Context, Stores) error {
	return func(ctx context.Context, stores Stores) error {
		for {
			missing, err := check(ctx, stores)
			if err == nil && missing == "" {
				return nil
			}
			if !sleep(ctx, settlePause) {
				if err == nil {
					err = errors.New(missing)
				}
				return err
			}
		}
	}
}

// awaitReady waits until each API process reports several times in a row that it is ready.
func (l *Load) awaitReady(ctx context.Context, _ Stores) error {
	const inARow = 3
	var work errgroup.Group
	for api := range l.cfg.APIs {
		work.Go(func() error {
			for row := 0; row < inARow; {
				a, err := l.client.send(ctx, call{method: http.MethodGet, path: "/readyz", api: api + 1, errorExpected: true})
				if row++; err != nil || a.Status != http.StatusOK {
					row = 0
				}
				if row < inARow && !sleep(ctx, settlePause) {
					return fmt.Errorf("%s: %w", l.cfg.APIs[api], ctx.Err())
				}
			}
			return nil
		})
	}
	return work.Wait()
}

func (l *Load) resolve(ctx context.Context, _ Stores) error {
	return l.forEachTenant(func(t *tenant) error { return errors.Join(t.resolve(ctx), t.resolveReceipts(ctx)) })
}

// forEachTenant calls do for all tenants concurrently.
func (l *Load) forEachTenant(do func(*tenant) error) error {
	var work errgroup.Group
	for _, t := range l.tenants {
		work.Go(func() error { return do(t) })
	}
	return work.Wait()
}

// kafka creates a client of the brokers.
func (s Stores) kafka(more ...kgo.Opt) (*kgo.Client, error) {
	options := append([]kgo.Opt{kgo.SeedBrokers(s.Kafka...)}, s.KafkaOptions...)
	return kgo.NewClient(append(options, more...)...)
}

// partitionEnd contains the start and end offsets of a partition.
type partitionEnd struct {
	topicID   [16]byte
	partition int32
	start     int64
	end       int64
}

// ends returns the start and end offsets of a topic's partitions.
func (s Stores) ends(ctx context.Context, topic string) ([]partitionEnd, error) {
	client, err := s.kafka()
	if err != nil {
		return nil, err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	name := s.TopicPrefix + topic
	meta, err := admin.Metadata(ctx, name)
	if err != nil {
		return nil, err
	}
	starts, err := admin.ListStartOffsets(ctx, name)
	if err != nil {
		return nil, err
	}
	ends, err := admin.ListEndOffsets(ctx, name)
	if err != nil {
		return nil, err
	}
	var list []partitionEnd
	for partition, end := range ends[name] {
		if end.Err != nil {
			return nil, end.Err
		}
		start, _ := starts.Lookup(name, partition)
		list = append(list, partitionEnd{
			topicID: meta.Topics[name].ID, partition: partition, start: start.Offset, end: end.Offset,
		})
	}
	return list, nil
}

func pointsStored(ctx context.Context, stores Stores) (string, error) {
	return consumed(ctx, stores, pointsTopic, "watermarks")
}

// pointsDeleted checks that accepted deletions of points have been executed.
func pointsDeleted(ctx context.Context, stores Stores) (missing string, err error) {
	var waiting int
	const unexecuted = `SELECT count(*) FROM tombstones WHERE executed_at IS NULL AND settled_at IS NULL`
	err = stores.Postgres.QueryRow(ctx, unexecuted).Scan(&waiting)
	if err != nil || waiting == 0 {
		return "", err
	}
	return fmt.Sprintf("%d deletions of points are not done", waiting), nil
}

func commandsDecided(ctx context.Context, stores Stores) (string, error) {
	return consumed(ctx, stores, commandsTopic, "command_offsets")
}

// consumed compares the end offsets of a topic with the consumed offsets in Postgres.
func consumed(ctx context.Context, stores Stores, topic, table string) (missing string, err error) {
	ends, err := stores.ends(ctx, topic)
	if err != nil {
		return "", err
	}
	for _, e := range ends {
		if e.end == e.start {
			continue
		}
		var next int64
		err := stores.Postgres.QueryRow(
			ctx, `SELECT coalesce(max(next_offset), 0) FROM `+table+` WHERE topic_id = $1 AND partition = $2`, e.topicID[:],
			e.partition,
		).Scan(&next)
		if err != nil {
			return "", err
		}
		if next < e.end {
			return fmt.Sprintf("partition %d of %s is consumed up to %d of %d", e.partition, topic, next, e.end), nil
		}
	}
	return "", nil
}

// workspaceIDs returns the ids of the workspaces.
func (l *Load) workspaceIDs() []uuid.UUID {
	list := make([]uuid.UUID, len(l.tenants))
	for i, t := range l.tenants {
		list[i] = t.uuid
	}
	return list
}

func (l *Load) published(ctx context.Context, stores Stores) (string, error) {
	return behind(
		ctx, stores, l.workspaceIDs(),
		`SELECT h.workspace_id, h.sequence, coalesce(p.sequence, 0) FROM graph_heads h
		LEFT JOIN graph_published p USING (workspace_id) WHERE h.workspace_id = ANY($1)`,
	)
}

// indexed checks the index of words first, then the vectors.
func (l *Load) indexed(ctx context.Context, stores Stores) (string, error) {
	missing, err := behind(
		ctx, stores, l.workspaceIDs(),
		`SELECT h.workspace_id, h.sequence, coalesce(x.sequence, 0) FROM graph_heads h
		LEFT JOIN lexical_workspaces x ON x.workspace_id = h.workspace_id AND NOT x.filling WHERE h.workspace_id = ANY($1)`,
	)
	if missing != "" {
		missing += " in words"
	}
	if missing != "" || err != nil {
		return missing, err
	}
	if stores.Milvus == "" {
		return "", nil
	}
	missing, err = behind(
		ctx, stores, l.workspaceIDs(),
		`SELECT h.workspace_id, h.sequence, coalesce(p.sequence, 0) FROM graph_heads h
		LEFT JOIN (embedding_progress p JOIN search_indexes i ON i.id = p.index_id AND i.state = 'live')
		ON p.workspace_id = h.workspace_id AND p.built
		WHERE h.workspace_id = ANY($1)`,
	)
	if missing != "" {
		missing += " in vectors"
	}
	return missing, err
}

// behind returns the workspaces whose second number is below their first, as text.
func behind(ctx context.Context, stores Stores, workspaces []uuid.UUID, query string) (string, error) {
	found, err := stores.Postgres.Query(ctx, query, workspaces)
	if err != nil {
		return "", err
	}
	var (
		late          []string
		workspace     uuid.UUID
		head, current int64
	)
	_, err = pgx.ForEachRow(found, []any{&workspace, &head, &current}, func() error {
		if current < head {
			late = append(late, fmt.Sprintf("workspace %s is at %d of %d", workspace, current, head))
		}
		return nil
	})
	return strings.Join(late, ", "), err
}

// readEvents reads each feed up to the newest change of its workspace.
func (l *Load) readEvents(ctx context.Context, stores Stores) error {
	return l.forEachTenant(func(t *tenant) error {
		var head int64
		if err := stores.Postgres.QueryRow(
			ctx, `SELECT coalesce(max(sequence), 0) FROM graph_heads WHERE workspace_id = $1`, t.uuid,
		).Scan(&head); err != nil {
			return err
		}
		return t.feed.catchUp(ctx, head)
	})
}
