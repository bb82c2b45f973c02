package redis

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

const requestsKey = "livegraph:requests:" // and the workspace

// Window is a span of time, and how many requests of a workspace passed in it.
type Window struct {
	Number int64 // how many such spans lie between 1970 and its start
	Count  int64
}

// RequestAsk asks how many requests of a workspace passed in the two windows, of a
// minute and of a day, that the server's clock is in, and counts as many more of Take as
// both have room for.
type RequestAsk struct {
	Workspace uuid.UUID
	Take      int64            // how many requests are asked for; 0: none, it is only looked
	Limits    [2]int64         // what the minute and the day have room for
	Lengths   [2]time.Duration // how long both are; they begin with 1970, in whole microseconds
	// Known is what the caller knows to have passed. Where the server has counted
	// less of the same window, it has lost data, or was unavailable, and goes on from there.
	Known [2]Window
	// NotAfter is when, by the server's clock, nobody waits for the answer any more and
	// nothing must be counted; the zero time: never. Else a server that was stopped
	// would count what it finds on its connections in a later window.
	NotAfter time.Time
}

// RequestAnswer is what was found, the requests that were taken included.
type RequestAnswer struct {
	At     time.Time // by the server's clock, to the microsecond
	Taken  int64     // how many were counted: those for which both windows had room
	Late   bool      // it was past NotAfter: only At is told
	Behind bool      // the server had counted less than was known
	Counts [2]int64  // in the minute and in the day of At
}

// countRequests keeps both windows of a workspace in one hash, which goes with the
// day. A window that is not the present one counts for nothing. What is refused
// changes nothing, unless the server had lost something.
//
// ARGV: lengths in microseconds (1, 2), limits (3, 4), numbers and counts that are
// known (5 to 8), not after, in microseconds, 0: whenever (9), how many to take (10).
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

// CountRequest asks for one workspace, in one round trip and one atomic step.
func (db *DB) CountRequest(ctx context.Context, ask *RequestAsk) (RequestAnswer, error) {
	return requestAnswer(countRequests.Run(ctx, db.client, ask.keys(), ask.args()...))
}

// CountRequests asks for several, in one round trip.
func (db *DB) CountRequests(ctx context.Context, asks []RequestAsk) ([]RequestAnswer, error) {
	pipe := db.client.Pipeline()
	commands := make([]*redis.Cmd, len(asks))
	for i := range asks {
		commands[i] = countRequests.Eval(ctx, pipe, asks[i].keys(), asks[i].args()...)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, fmt.Errorf("counting requests in Redis: %w", err)
	}
	answers := make([]RequestAnswer, len(asks))
	for i, command := range commands {
		var err error
		if answers[i], err = requestAnswer(command); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

func (ask *RequestAsk) keys() []string { return []string{requestsKey + ask.Workspace.String()} }

func (ask *RequestAsk) args() []any {
	var notAfter int64
	if !ask.NotAfter.IsZero() {
		notAfter = ask.NotAfter.UnixMicro()
	}
	return []any{
		ask.Lengths[0].Microseconds(), ask.Lengths[1].Microseconds(), ask.Limits[0], ask.Limits[1],
		ask.Known[0].Number, ask.Known[0].Count, ask.Known[1].Number, ask.Known[1].Count, notAfter, ask.Take,
	}
}

func requestAnswer(command *redis.Cmd) (RequestAnswer, error) {
	values, err := command.Int64Slice()
	if err != nil {
		return RequestAnswer{}, fmt.Errorf("counting a request in Redis: %w", err)
	}
	if len(values) != 6 {
		return RequestAnswer{}, fmt.Errorf("counting a request in Redis: %d values instead of 6", len(values))
	}
	return RequestAnswer{
		At: time.UnixMicro(values[0]).UTC(), Taken: values[1], Late: values[2] == 1, Behind: values[3] == 1,
		Counts: [2]int64{values[4], values[5]},
	}, nil
}
