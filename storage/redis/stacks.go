package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

const (
	stacksKey  = "livegraph:undo:" // and the workspace
	stacksHead = "head"            // the field with the sequence; the others are actors
	stacksKept = 24 * time.Hour    // after the last change of a workspace
	// stacksActors is how many actors' stacks are kept of a workspace. Beyond, all but those
	// that were just changed are thrown away: they are made again out of the journal.
	stacksActors = 2000
)

// Stacks are the undo stacks of a workspace's actors, each as it was encoded, as of
// a sequence of its journal. They are true if the journal is at that sequence, and
// worth nothing else.
type Stacks struct {
	Head   int64
	Actors map[uuid.UUID][]byte
}

// StackUpdate brings the stacks of a workspace from one sequence to another.
type StackUpdate struct {
	Workspace uuid.UUID
	Base      int64                // what is kept must be as of this; else it is thrown away
	Head      int64                // and is then as of this
	Actors    map[uuid.UUID][]byte // stacks that are others than before; nil: not known any more
}

// saveStacks keeps nothing that is not of the sequence which the update begins at:
// an update before may have been lost, or somebody else may have written.
var saveStacks = redis.NewScript(`
	if redis.call('HGET', KEYS[1], 'head') ~= ARGV[1] then redis.call('DEL', KEYS[1]) end
	if redis.call('HLEN', KEYS[1]) > tonumber(ARGV[4]) then redis.call('DEL', KEYS[1]) end
	redis.call('HSET', KEYS[1], 'head', ARGV[2])
	for i = 5, #ARGV, 2 do
		if ARGV[i + 1] == '' then redis.call('HDEL', KEYS[1], ARGV[i])
		else redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
	end
	return redis.call('PEXPIRE', KEYS[1], ARGV[3])`)

// SaveStacks keeps stacks, in one round trip.
func (db *DB) SaveStacks(ctx context.Context, updates []StackUpdate) error {
	pipe := db.client.Pipeline()
	for _, u := range updates {
		args := []any{strconv.FormatInt(u.Base, 10), strconv.FormatInt(u.Head, 10), stacksKept.Milliseconds(), stacksActors}
		for actor, stack := range u.Actors {
			args = append(args, actor.String(), stack)
		}
		saveStacks.Eval(ctx, pipe, []string{stacksKey + u.Workspace.String()}, args...)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("keeping undo stacks in Redis: %w", err)
	}
	return nil
}

// LoadStacks returns what is kept of the stacks of actors, by workspace, in one round
// trip. Workspaces and actors that nothing is kept of are missing.
func (db *DB) LoadStacks(ctx context.Context, wanted map[uuid.UUID][]uuid.UUID) (map[uuid.UUID]Stacks, error) {
	pipe := db.client.Pipeline()
	answers := make(map[uuid.UUID]*redis.SliceCmd, len(wanted))
	for workspace, actors := range wanted {
		fields := make([]string, 0, len(actors)+1)
		fields = append(fields, stacksHead)
		for _, actor := range actors {
			fields = append(fields, actor.String())
		}
		answers[workspace] = pipe.HMGet(ctx, stacksKey+workspace.String(), fields...)
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return nil, fmt.Errorf("reading undo stacks from Redis: %w", err)
	}
	found := map[uuid.UUID]Stacks{}
	for workspace, answer := range answers {
		values := answer.Val()
		text, _ := values[0].(string)
		head, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			continue
		}
		stacks := Stacks{Head: head, Actors: map[uuid.UUID][]byte{}}
		for i, actor := range wanted[workspace] {
			if stack, ok := values[i+1].(string); ok {
				stacks.Actors[actor] = []byte(stack)
			}
		}
		found[workspace] = stacks
	}
	return found, nil
}
