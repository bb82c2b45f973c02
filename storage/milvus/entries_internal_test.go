package milvus

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// Of two entries in a call milvus-lite keeps the last, but Milvus standalone keeps both.
func TestOfSeveralEntriesForOneIdentityTheLastIsWritten(t *testing.T) {
	one, other := Entry{Node: uuid.New(), Vector: []float32{1}}, Entry{Node: uuid.New(), Vector: []float32{2}}
	again := one
	again.Vector = []float32{3}
	second := one
	second.Chunk = 1
	require.Equal(t, []Entry{other, second, again}, lastByID([]Entry{one, other, second, again}))
	require.Equal(t, []Entry{one, other}, lastByID([]Entry{one, other}))
}
