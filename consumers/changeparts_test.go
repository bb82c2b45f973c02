package consumers_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/consumers"
)

func TestAChangeIsCompleteWhenAllItsPartsWereRead(t *testing.T) {
	a, b := uuid.New(), uuid.New()
	type part struct {
		workspace uuid.UUID
		sequence  int64
		part      uint32
		parts     uint32
		complete  bool
	}
	for name, parts := range map[string][]part{
		"one part":             {{a, 1, 0, 1, true}, {a, 1, 0, 0, true}},
		"in order":             {{a, 1, 0, 3, false}, {a, 1, 1, 3, false}, {a, 1, 2, 3, true}},
		"the last alone":       {{a, 1, 2, 3, false}},
		"one is missing":       {{a, 1, 0, 3, false}, {a, 1, 2, 3, false}},
		"the first is missing": {{a, 1, 1, 3, false}, {a, 1, 2, 3, false}},
		"of two workspaces":    {{a, 1, 0, 2, false}, {b, 1, 1, 2, false}, {a, 1, 1, 2, true}},
		"of two changes":       {{a, 1, 0, 2, false}, {a, 2, 1, 2, false}},
		"read again": {
			{a, 1, 0, 3, false}, {a, 1, 1, 3, false}, {a, 1, 0, 3, false}, {a, 1, 1, 3, false}, {a, 1, 2, 3, true},
		},
		"read again in part": {
			{a, 1, 0, 3, false}, {a, 1, 1, 3, false}, {a, 1, 2, 3, true}, {a, 1, 1, 3, false}, {a, 1, 2, 3, true},
		},
		"what was lost is back": {{a, 1, 2, 3, false}, {a, 1, 0, 3, false}, {a, 1, 1, 3, false}, {a, 1, 2, 3, true}},
	} {
		var c consumers.ChangeParts
		for i, p := range parts {
			require.Equal(t, p.complete, c.MarkRead(p.workspace, p.sequence, p.part, p.parts), "%s, part %d", name, i)
		}
	}
}
