package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
)

// refusable is in the names of nodes whose creation a fault makes the database refuse: such a
// command fails with an internal error, and its record becomes a dead letter.
const refusable = "refusable"

// redrive redrives the dead letters of commands as an operator while their callers retry: each
// command has at most one effect.
func (l *Load) redrive(ctx context.Context, _ *rand.Rand) { _ = l.redriveDeadLetters(ctx) }

// redriveAll redrives all dead letters of commands when all requests are resolved: a dead letter
// must not have a second effect beside that of the retried request.
func (l *Load) redriveAll(ctx context.Context, _ Stores) error { return l.redriveDeadLetters(ctx) }

func (l *Load) redriveDeadLetters(ctx context.Context) error {
	type redriveRequest struct {
		Filter struct {
			Topics []string `json:"topics"`
		} `json:"filter"`
		Again  bool   `json:"again"`
		Cursor string `json:"cursor,omitempty"`
	}
	next := redriveRequest{Again: true}
	next.Filter.Topics = []string{commandsTopic}
	for {
		var reply struct{ NextCursor *string }
		q := call{method: http.MethodPost, path: "/admin/api/dead-letters/redrive", body: body(next)}
		if err := l.operator.do(ctx, q, http.StatusOK, &reply); err != nil {
			return fmt.Errorf("putting dead letters back: %w", err)
		}
		if reply.NextCursor == nil {
			return nil
		}
		next.Cursor = *reply.NextCursor
	}
}
