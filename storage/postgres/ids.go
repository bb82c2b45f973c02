package postgres

import (
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// CommandTag is the result of a statement, such as the number of affected rows.
type CommandTag = pgconn.CommandTag

// UUIDs is a column of ids. The driver encodes it directly. For each element of a
// []uuid.UUID it would look up the encoding again.
type UUIDs = pgtype.FlatArray[pgtype.UUID]

// UUID returns an id as an element of UUIDs.
func UUID(id uuid.UUID) pgtype.UUID { return pgtype.UUID{Bytes: id, Valid: true} }

// IDArray returns ids in a type that pgx encodes without converting them to text first, which
// would take longer than many queries.
func IDArray(ids []uuid.UUID) UUIDs {
	list := make(UUIDs, len(ids))
	for i, id := range ids {
		list[i] = UUID(id)
	}
	return list
}

// IDList is a list of ids with their workspaces, as two columns.
type IDList struct{ Workspaces, IDs UUIDs }

// Add appends ids of a workspace, except those for which skip returns true. skip may be nil.
func (l *IDList) Add(workspace uuid.UUID, ids []uuid.UUID, skip func(uuid.UUID) bool) {
	for _, id := range ids {
		if skip == nil || !skip(id) {
			l.Workspaces, l.IDs = append(l.Workspaces, UUID(workspace)), append(l.IDs, UUID(id))
		}
	}
}
