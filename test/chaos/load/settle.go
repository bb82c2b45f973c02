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
	// settleLimit bounds how long the world may take to catch up once it is well.
	settleLimit = 8 * time.Minute
	settlePause = 100 * time.Millisecond
)

// The topics, without their prefix.
const (
	pointsTopic   = "points"
	commandsTopic = "graph.commands"
	eventsTopic   = "graph.events"
)

var errBehind = errors.New("the world does not catch up")

// step is one thing that is waited for.
type step struct {
	what        string
	do          func(context.Context, Stores) error
	waitTimeout time.Duration
	invariant   int // that is broken when it does not come; 0: nothing more can be told
}

// Settle waits until nothing is under way: all processes answer, what was left open is
// resolved, all consumers have consumed what is in the log, and the search index has
// what is in the graph. The world must be well and Run must be over. What does not come
// in its time is a violation that Check gives, since the rest can be looked at all the
// same; an error says that it cannot.
func (l *Load) Settle(ctx context.Context, stores Stores) error {
	ctx, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	defer l.say(ctx, "settled")
	for _, s := range []step{
		{"processes are ready", l.awaitReady, settleLimit, 0},
		{"requests are resolved", l.resolve, 3 * time.Minute, 4},
		{"dead letters are put back", l.putBackAll, 3 * time.Minute, 4},
		// What a process still holds of a request that was given up has come to an end.
		{"requests have ended", l.awaitQuiet, settleLimit, 0},
		{"points are stored", until(pointsStored), 3 * time.Minute, 1},
		{"points are deleted", until(pointsDeleted), 3 * time.Minute, 3},
		{"commands are decided", until(commandsDecided), 3 * time.Minute, 4},
		{"changes are published", until(l.published), 3 * time.Minute, 5},
		{"changes are indexed", until(l.indexed), 3 * time.Minute, 13},
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
	l.took(s.what, began)
	switch {
	case err == nil:
		return nil
	case s.invariant == 0 || ctx.Err() != nil:
		return fmt.Errorf("%w: waiting until %s: %w", errBehind, s.what, err)
	}
	l.wrong.add(
		s.invariant, "it does not come that "+s.what, "after %s: %v", time.Since(began).Round(time.Millisecond), err,
	)
	return nil
}

// awaitQuiet waits until the last request of which it is not known what came of it was
// long enough ago.
func (l *Load) awaitQuiet(ctx context.Context, _ Stores) error {
	rest(ctx, l.quiet-time.Since(time.Unix(0, l.client.vague.Load())))
	return ctx.Err()
}

// until repeats a question until it is answered with "", which is what is missing.
func until(ask func(context.Context, Stores) (missing string, err error)) func(context.Context, Stores) error {
	return func(ctx context.Context, stores Stores) error {
		for {
			missing, err := ask(ctx, stores)
			if err == nil && missing == "" {
				return nil
			}
			if !rest(ctx, settlePause) {
				if err == nil {
					err = errors.New(missing)
				}
				return err
			}
		}
	}
}

// awaitReady waits until each API process says that it is ready, some times in a row.
func (l *Load) awaitReady(ctx context.Context, _ Stores) error {
	const inARow = 3
	var work errgroup.Group
	for api := range l.cfg.APIs {
		work.Go(func() error {
			for row := 0; row < inARow; {
				a, err := l.client.send(ctx, call{method: http.MethodGet, path: "/readyz", api: api + 1, foreign: true})
				if row++; err != nil || a.Status != http.StatusOK {
					row = 0
				}
				if row < inARow && !rest(ctx, settlePause) {
					return fmt.Errorf("%s: %w", l.cfg.APIs[api], ctx.Err())
				}
			}
			return nil
		})
	}
	return work.Wait()
}

func (l *Load) resolve(ctx context.Context, _ Stores) error {
	return l.each(func(t *tenant) error { return errors.Join(t.resolve(ctx), t.resolveReceipts(ctx)) })
}

// each does something for all tenants at a time.
func (l *Load) each(do func(*tenant) error) error {
	var work errgroup.Group
	for _, t := range l.tenants {
		work.Go(func() error { return do(t) })
	}
	return work.Wait()
}

// kafka opens a client of the brokers.
func (s Stores) kafka(more ...kgo.Opt) (*kgo.Client, error) {
	options := append([]kgo.Opt{kgo.SeedBrokers(s.Kafka...)}, s.KafkaOptions...)
	return kgo.NewClient(append(options, more...)...)
}

// partitionEnd is where a partition of a topic ends.
type partitionEnd struct {
	topicID   [16]byte
	partition int32
	start     int64
	end       int64
}

// ends asks the brokers where a topic begins and ends.
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

// pointsDeleted looks for deletions that answers know of and the store of points does not.
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

// consumed compares the ends of a topic with how far Postgres says that it is consumed.
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

// ids are the workspaces.
func (l *Load) ids() []uuid.UUID {
	list := make([]uuid.UUID, len(l.tenants))
	for i, t := range l.tenants {
		list[i] = t.uuid
	}
	return list
}

func (l *Load) published(ctx context.Context, stores Stores) (string, error) {
	return behind(ctx, stores, l.ids(), `SELECT h.workspace_id, h.sequence, coalesce(p.sequence, 0) FROM graph_heads h
		LEFT JOIN graph_published p USING (workspace_id) WHERE h.workspace_id = ANY($1)`)
}

// indexed looks at the words first and then at the vectors.
func (l *Load) indexed(ctx context.Context, stores Stores) (string, error) {
	missing, err := behind(
		ctx, stores, l.ids(),
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
		ctx, stores, l.ids(),
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

// behind asks for workspaces whose second number is below their first.
func behind(ctx context.Context, stores Stores, workspaces []uuid.UUID, query string) (string, error) {
	found, err := stores.Postgres.Query(ctx, query, workspaces)
	if err != nil {
		return "", err
	}
	var (
		late      []string
		workspace uuid.UUID
		head, is  int64
	)
	_, err = pgx.ForEachRow(found, []any{&workspace, &head, &is}, func() error {
		if is < head {
			late = append(late, fmt.Sprintf("workspace %s is at %d of %d", workspace, is, head))
		}
		return nil
	})
	return strings.Join(late, ", "), err
}

// readEvents has each feed read up to its workspace's newest change.
func (l *Load) readEvents(ctx context.Context, stores Stores) error {
	return l.each(func(t *tenant) error {
		var head int64
		if err := stores.Postgres.QueryRow(
			ctx, `SELECT coalesce(max(sequence), 0) FROM graph_heads WHERE workspace_id = $1`, t.uuid,
		).Scan(&head); err != nil {
			return err
		}
		return t.feed.catchUp(ctx, head)
	})
}
