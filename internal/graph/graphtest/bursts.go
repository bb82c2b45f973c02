package graphtest

import (
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

// Bursts generates a long history of a few actors that repeat the same commands many
// times, so that each of their stacks is filled beyond its depth and emptied several
// times. No command conflicts with another: a command is refused only because of the
// stacks, and [Oracle] has the expected result.
type Bursts struct {
	Actors []uuid.UUID
	Roll   func(n int) int // a number below n, all equally likely
	// Apply applies a command, and records its change.
	Apply func(c graph.Command) (graph.Outcome, error)
	// Depths returns how many commands an actor can undo and redo in the tested state.
	Depths func(actor uuid.UUID) (undo, redo int, err error)

	oracle   Oracle
	commands int64
	done     []doneCommand
}

type doneCommand struct {
	id       uuid.UUID
	sequence int64
}

// burstPatterns has sequences of commands, each of which a burst repeats.
var burstPatterns = [][]graph.Type{
	{graph.TypeCreateNode},
	{graph.TypeCreateNode, graph.TypeUndo},
	{graph.TypeCreateNode, graph.TypeUndo, graph.TypeRedo},
	{graph.TypeUndo},
	{graph.TypeUndo},
	{graph.TypeRedo},
	{graph.TypeUndo, graph.TypeUndo, graph.TypeRedo},
	{graph.TypeCreateNode, graph.TypeCreateNode, graph.TypeUndo},
}

// Burst runs one pattern of commands of an actor many times. It returns an error if the
// state differs from the oracle.
func (b *Bursts) Burst() error {
	kinds := burstPatterns[b.Roll(len(burstPatterns))]
	actor := b.Actors[b.Roll(len(b.Actors))]
	pick := b.Roll(6) // 0: of the workspace, 1: by command id, else of the actor
	for i := range 1 + b.Roll(150) {
		if err := b.step(kinds[i%len(kinds)], actor, pick); err != nil {
			return err
		}
	}
	for _, actor := range b.Actors {
		if err := b.checkDepths(actor); err != nil {
			return err
		}
	}
	return nil
}

func (b *Bursts) step(kind graph.Type, actor uuid.UUID, pick int) error {
	b.commands++
	c := graph.Command{ID: burstID(4, b.commands), Origin: graph.Origin{Actor: actor, Scopes: []string{"admin"}}}
	p := graph.Pick{Workspace: pick == 0}
	owner, named := actor, int64(0)
	switch {
	case pick == 0:
		owner = uuid.Nil
	case pick == 1 && len(b.done) > 0:
		target := b.done[b.Roll(len(b.done))]
		p.CommandID, named = target.id, target.sequence
	}
	want, refused := int64(0), ""
	switch kind {
	case graph.TypeUndo:
		c.Payload = graph.Undo{Pick: p}
		if want = b.oracle.NextUndo(owner); named != 0 {
			want = sequenceIf(b.oracle.CanUndo(named), named)
		}
		refused = "nothing_to_undo"
	case graph.TypeRedo:
		c.Payload = graph.Redo{Pick: p}
		if want = b.oracle.NextRedo(owner); named != 0 {
			want = sequenceIf(b.oracle.CanRedo(named), named)
		}
		refused = "nothing_to_redo"
	default:
		c.Payload = graph.CreateNode{ID: burstID(1, b.commands), Name: "n", EntityType: graph.Concept}
	}
	outcome, err := b.Apply(c)
	if refused != "" && want == 0 {
		var public *fault.Error
		if !errors.As(err, &public) || public.Details["reason"] != refused {
			return fmt.Errorf("%s of actor %s: %w, must be refused: %s", kind, actor, err, refused)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s of actor %s, command %d, which is of change %d: %w", kind, actor, b.commands, want, err)
	}
	return b.record(c, outcome.Change, want)
}

func (b *Bursts) record(c graph.Command, change *graph.Change, want int64) error {
	if change.Target == nil {
		b.oracle.RecordCommand(int64(change.Sequence), c.Actor)
		b.done = append(b.done, doneCommand{c.ID, int64(change.Sequence)})
		return b.checkDepths(c.Actor)
	}
	if int64(change.Target.Sequence) != want {
		return fmt.Errorf("change %d is %s of %d, must be of %d",
			change.Sequence, change.Type, change.Target.Sequence, want)
	}
	if change.Type == graph.TypeUndo {
		b.oracle.RecordUndo(int64(change.Sequence), want)
	} else {
		b.oracle.RecordRedo(want)
	}
	return b.checkDepths(c.Actor)
}

func (b *Bursts) checkDepths(actor uuid.UUID) error {
	undo, redo, err := b.Depths(actor)
	if err != nil {
		return err
	}
	if wantUndo, wantRedo := b.oracle.Depths(actor); undo != wantUndo || redo != wantRedo {
		return fmt.Errorf("actor %s can undo %d and redo %d by the state, must be %d and %d",
			actor, undo, redo, wantUndo, wantRedo)
	}
	return nil
}

func sequenceIf(condition bool, sequence int64) int64 {
	if condition {
		return sequence
	}
	return 0
}

func burstID(kind byte, n int64) uuid.UUID {
	return uuid.UUID{0: kind, 12: byte(n >> 24), 13: byte(n >> 16), 14: byte(n >> 8), 15: byte(n)}
}
