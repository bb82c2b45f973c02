package redis

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

const requestsKey = "livegraph:requests:" // prefix of the key; the workspace's id follows

// Window is a time window with the number of requests of a workspace that were accepted in it.
type Window struct {
	Number int64 // number of windows of the same length between 1970 and its start
	Count  int64
}

// RequestQuery queries the number of accepted requests of a workspace in the current minute and day, by
// the server's clock, and counts up to Take more, as many as the limits of both allow.
type RequestQuery struct {
	Workspace uuid.UUID
	Requests  int64            // number of new requests; 0: only read the counts
	Limits    [2]int64         // maximum per minute and per day
	Lengths   [2]time.Duration // lengths of both windows, in whole microseconds; the windows are aligned to 1970
	// Known contains the counts that the caller knows. If the server has a lower count for the same
	// window, because it has lost data or was unavailable, it continues with the known count.
	Known [2]Window
	// NotAfter is the time, by the server's clock, after which nothing must be counted, because
	// the caller no longer waits for the result; the zero time: never. Without it, a server that
	// was stopped would count the requests pending on its connections in a later window.
	NotAfter time.Time
}

// RequestResult is the result of a RequestQuery.
type RequestResult struct {
	At     time.Time // server time, in microsecond precision
	Taken  int64     // number of new requests that were counted within the limits
	Late   bool      // At is after NotAfter; the other fields are zero
	Behind bool      // the server had a lower count than Known
	Counts [2]int64  // in the minute and the day of At, including Taken
}

// countRequests stores both windows of a workspace in one hash, which expires with the day. Counts of
// past windows are ignored. If no request is counted, nothing is written, unless the server had a lower
// count than the known one.
//
// ARGV: lengths in microseconds (1, 2), limits (3, 4), known numbers and counts of the windows (5 to
// 8), NotAfter in microseconds or 0 (9), number of new requests (10).
var countRequests = redis.NewScript(countRequestsText)

const countRequestsText = `
	local t = redis.call('TIME')
	local now = t[1] * 1000000 + t[2]
	if tonumber(ARGV[9]) > 0 and now > tonumber(ARGV[9]) then return {now, 0, 1, 0, 0, 0} end
	local kept = redis.call('HMGET', KEYS[1], 'minute', 'day', 'of_minute', 'of_day')
	local number, count, taken, behind = {}, {}, tonumber(ARGV[10]), 0
	for i = 1, 2 do
		number[i] = math.floor(now / ARGV[i])
		count[i] = 0
		if tonumber(kept[i] or -1) == number[i] then count[i] = tonumber(kept[i + 2] or 0) end
		if tonumber(ARGV[3 + 2 * i]) == number[i] and tonumber(ARGV[4 + 2 * i]) > count[i] then
			count[i] = tonumber(ARGV[4 + 2 * i])
			behind = 1
		end
		taken = math.max(math.min(taken, tonumber(ARGV[2 + i]) - count[i]), 0)
	end
	if ARGV[10] == '0' then return {now, 0, 0, behind, count[1], count[2]} end
	count[1], count[2] = count[1] + taken, count[2] + taken
	if taken > 0 or behind == 1 then
		redis.call('HSET', KEYS[1], 'minute', number[1], 'day', number[2], 'of_minute', count[1], 'of_day', count[2])
		if tonumber(kept[2] or -1) ~= number[2] then
			redis.call('PEXPIRE', KEYS[1], math.ceil(((number[2] + 1) * ARGV[2] - now) / 1000) + 1000)
		end
	end
	return {now, taken, 0, behind, count[1], count[2]}`

// CountRequest runs one query atomically, in one round trip.
func (db *DB) CountRequest(ctx context.Context, ask *RequestQuery) (RequestResult, error) {
	command := ask.command(ctx, "evalsha", countRequests.Hash())
	if err := db.client.Process(ctx, command); redis.HasErrorPrefix(err, "NOSCRIPT") {
		command = ask.command(ctx, "eval", countRequestsText)
		_ = db.client.Process(ctx, command) // the command has the error
	}
	return requestAnswer(command.Cmd)
}

// CountRequests runs several queries in one round trip. Each is atomic.
func (db *DB) CountRequests(ctx context.Context, asks []RequestQuery) ([]RequestResult, error) {
	pipe := db.client.Pipeline()
	commands := make([]*redis.Cmd, len(asks))
	for i := range asks {
		command := asks[i].command(ctx, "eval", countRequestsText)
		commands[i] = command.Cmd
		_ = pipe.Process(ctx, command) // it is only queued
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, fmt.Errorf("counting requests in Redis: %w", err)
	}
	answers := make([]RequestResult, len(asks))
	for i, command := range commands {
		var err error
		if answers[i], err = requestAnswer(command); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// command returns the call of the script, by its hash or its text.
func (q *RequestQuery) command(ctx context.Context, name, script string) once {
	args := []any{name, script, 1, q.key()}
	command := redis.NewCmd(ctx, append(args, q.args()...)...)
	command.SetFirstKeyPos(3) // its slot in a Cluster
	return once{command}
}

func (q *RequestQuery) key() string { return requestsKey + q.Workspace.String() }

func (q *RequestQuery) args() []any {
	var notAfter int64
	if !q.NotAfter.IsZero() {
		notAfter = q.NotAfter.UnixMicro()
	}
	return []any{
		q.Lengths[0].Microseconds(), q.Lengths[1].Microseconds(), q.Limits[0], q.Limits[1],
		q.Known[0].Number, q.Known[0].Count, q.Known[1].Number, q.Known[1].Count, notAfter, q.Requests,
	}
}

func requestAnswer(command *redis.Cmd) (RequestResult, error) {
	values, err := command.Int64Slice()
	if err != nil {
		return RequestResult{}, fmt.Errorf("counting a request in Redis: %w", err)
	}
	if len(values) != 6 {
		return RequestResult{}, fmt.Errorf("counting a request in Redis: %d values instead of 6", len(values))
	}
	return RequestResult{
		At: time.UnixMicro(values[0]).UTC(), Taken: values[1], Late: values[2] == 1, Behind: values[3] == 1,
		Counts: [2]int64{values[4], values[5]},
	}, nil
}
