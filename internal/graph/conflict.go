package graph

import (
	"errors"
	"fmt"
	"maps"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// Conflict is one thing that stands in the way of an undo or a redo, as the
// interface shows it.
type Conflict struct {
	Kind        string    `json:"kind"`
	ID          uuid.UUID `json:"id"`
	Field       string    `json:"field,omitempty"`
	ByCommandID uuid.UUID `json:"byCommandId"` // the command because of which it does
}

// obstacle is a conflict that knows only the sequence of what caused it.
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

// blocked makes the error of an undo or a redo that is not possible now.
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

func checkVersion(expected *int64, actual int64) error {
	if expected == nil || *expected == actual {
		return nil
	}
	return fault.New(fault.Conflict, "Version mismatch").
		With("expectedVersion", *expected).With("actualVersion", actual)
}

// atIndex reports which command of a batch a fault is about. An error of another sort
// stays what it is.
func atIndex(err error, index int) error {
	var public *fault.Error
	if !errors.As(err, &public) {
		return err
	}
	placed := *public
	placed.Details = maps.Clone(public.Details)
	_ = placed.With("index", index)
	if field, ok := placed.Details["field"].(string); ok {
		field = fmt.Sprintf("commands[%d].%s", index, field)
		_ = placed.With("field", field)
		if reason, ok := placed.Details["reason"].(string); ok && public.Kind == fault.Invalid {
			placed.Message = field + ": " + reason
		}
	}
	return &placed
}
