package graph

import (
	"errors"
	"fmt"
	"maps"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// Conflict is a reason why an undo or a redo is blocked, as the API returns it.
type Conflict struct {
	Kind        string    `json:"kind"`
	ID          uuid.UUID `json:"id"`
	Field       string    `json:"field,omitempty"`
	ByCommandID uuid.UUID `json:"byCommandId"` // the command that caused the conflict
}

// obstacle is a conflict that has the sequence of the change that caused it instead of
// the id of its command.
type obstacle struct {
	kind  Kind
	id    uuid.UUID
	field string
	by    Sequence
}

func obstacleAt(r resource, field string, by Sequence) obstacle {
	kind, id := r.ref()
	return obstacle{kind: kind, id: id, field: field, by: by}
}

// blocked returns the error of an undo or a redo that the obstacles block.
func (d *decision) blocked(verb string, obstacles []obstacle) error {
	known := map[Sequence]uuid.UUID{d.sequence: d.commandID}
	conflicts := make([]Conflict, 0, min(len(obstacles), MaxConflicts))
	for _, o := range obstacles[:min(len(obstacles), MaxConflicts)] {
		id, ok := known[o.by]
		if !ok {
			change, err := d.state.Change(o.by)
			if err != nil {
				return err
			}
			id = change.CommandID
			known[o.by] = id
		}
		conflicts = append(conflicts, Conflict{Kind: o.kind.String(), ID: o.id, Field: o.field, ByCommandID: id})
	}
	return fault.Newf(fault.Conflict, "The command cannot be %s: what it touched has changed since", verb).
		With("reason", "undo_blocked").With("conflicts", conflicts)
}

func notFound(what, field string) error {
	return fault.Newf(fault.NotFound, "%s not found", what).With("field", field)
}

func alreadyExists(kind string) error {
	return fault.Newf(fault.Conflict, "The id of the %s is already used", kind).
		With("reason", "already_exists").With("field", "payload.id")
}

// atIndex returns a copy of a fault that has the index of the failed command of a batch.
// It returns any other error unchanged.
func atIndex(err error, index int) error {
	var public *fault.Error
	if !errors.As(err, &public) {
		return err
	}
	indexed := *public
	indexed.Details = maps.Clone(public.Details)
	_ = indexed.With("index", index)
	if field, ok := indexed.Details["field"].(string); ok {
		field = fmt.Sprintf("commands[%d].%s", index, field)
		_ = indexed.With("field", field)
		if reason, ok := indexed.Details["reason"].(string); ok && public.Kind == fault.Invalid {
			indexed.Message = field + ": " + reason
		}
	}
	return &indexed
}
