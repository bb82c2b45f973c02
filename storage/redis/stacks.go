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
	stacksKey  = "livegraph:undo:" // prefix of the key; the workspace's id follows
	stacksHead = "head"            // field with the sequence; the other fields are actor ids
	stacksTTL  = 24 * time.Hour    // after the last change of a workspace
	// maxStackActors is the maximum number of actors of a workspace whose stacks are stored. If
	// there are more, all but the updated stacks are deleted; they can be rebuilt from the journal.
	maxStackActors = 2000
)

// Stacks contains the encoded undo stacks of a workspace's actors as of a sequence of its journal. They
// are valid only while the journal is at that sequence.
type Stacks struct {
	Head   int64
	Actors map[uuid.UUID][]byte
}

// StackUpdate updates the stacks of a workspace from one sequence to another.
type StackUpdate struct {
	Workspace uuid.UUID
	Base      int64                // required sequence of the stored stacks; if they have another, they are deleted
	Head      int64                // sequence after the update
	Actors    map[uuid.UUID][]byte // changed stacks; nil deletes a stack
}

// saveStacks deletes stored stacks whose sequence is not the base of the update: an earlier update may
// have been lost, or another process may have written.
var saveStacks = redis.NewScript(`
	if redis.call('HGET', KEYS[1], 'head') ~= ARGV[1] then redis.call('DEL', KEYS[1]) end
	if redis.call('HLEN', KEYS[1]) > tonumber(ARGV[4]) then redis.call('DEL', KEYS[1]) end
	redis.call('HSET', KEYS[1], 'head', ARGV[2])
	for i = 5, #ARGV, 2 do
		if ARGV[i + 1] == '' then redis.call('HDEL', KEYS[1], ARGV[i])
		else redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
	end
	return redis.call('PEXPIRE', KEYS[1], ARGV[3])`)

// SaveStacks stores updates of stacks in one round trip.
func (db *DB) SaveStacks(ctx context.Context, updates []StackUpdate) error {
	pipe := db.client.Pipeline()
	for _, u := range updates {
		args := []any{strconv.FormatInt(u.Base, 10), strconv.FormatInt(u.Head, 10), stacksTTL.Milliseconds(), maxStackActors}
		for actor, stack := range u.Actors {
			args = append(args, actor.String(), stack)
		}
		saveStacks.Eval(ctx, pipe, []string{stacksKey + u.Workspace.String()}, args...)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("storing undo stacks in Redis: %w", err)
	}
	return nil
}

// LoadStacks returns the stored stacks of actors by workspace, in one round trip. The result lacks
// workspaces and actors without stored stacks.
func (db *DB) LoadStacks(
	ctx context.Context, actorsByWorkspace map[uuid.UUID][]uuid.UUID,
) (map[uuid.UUID]Stacks, error) {
	pipe := db.client.Pipeline()
	responses := make(map[uuid.UUID]*redis.SliceCmd, len(actorsByWorkspace))
	for workspace, actors := range actorsByWorkspace {
		fields := make([]string, 0, len(actors)+1)
		fields = append(fields, stacksHead)
		for _, actor := range actors {
			fields = append(fields, actor.String())
		}
		responses[workspace] = pipe.HMGet(ctx, stacksKey+workspace.String(), fields...)
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return nil, fmt.Errorf("reading undo stacks from Redis: %w", err)
	}
	found := map[uuid.UUID]Stacks{}
	for workspace, response := range responses {
		values := response.Val()
		headText, _ := values[0].(string)
		head, err := strconv.ParseInt(headText, 10, 64)
		if err != nil {
			continue
		}
		stacks := Stacks{Head: head, Actors: map[uuid.UUID][]byte{}}
		for i, actor := range actorsByWorkspace[workspace] {
			if stack, ok := values[i+1].(string); ok {
				stacks.Actors[actor] = []byte(stack)
			}
		}
		found[workspace] = stacks
	}
	return found, nil
}
