package postgres

import (
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// CommandTag reports what a statement did.
type CommandTag = pgconn.CommandTag

// UUIDs are a column of ids. The driver takes them as they are, while it has to find
// out for each uuid.UUID again what to do with it.
type UUIDs = pgtype.FlatArray[pgtype.UUID]

// UUID returns an id as an element of UUIDs.
func UUID(id uuid.UUID) pgtype.UUID { return pgtype.UUID{Bytes: id, Valid: true} }

// IDList are ids with their workspaces, as two columns.
type IDList struct{ Workspaces, IDs UUIDs }

// Add appends ids of a workspace, except those that skip, if it is not nil, reports true for.
func (l *IDList) Add(workspace uuid.UUID, ids []uuid.UUID, skip func(uuid.UUID) bool) {
	for _, id := range ids {
		if skip == nil || !skip(id) {
			l.Workspaces, l.IDs = append(l.Workspaces, UUID(workspace)), append(l.IDs, UUID(id))
		}
	}
}
