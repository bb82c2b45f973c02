package hooks

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/storage/postgres/access"
)

// maxRequestIDs is the maximum number of ids of requests in an event of dead letters.
const maxRequestIDs = 100

// eventIDs is the namespace of the ids of events.
var eventIDs = uuid.MustParse("8f0a4f0e-57b3-4c5e-9a3e-6f6b1a2d7c41")

// EventID returns the id that follows from the parts.
func EventID(parts ...any) uuid.UUID {
	var name []byte
	for _, part := range parts {
		text := fmt.Sprint(part)
		name = fmt.Appendf(name, "%d:%s", len(text), text)
	}
	return uuid.NewSHA1(eventIDs, name)
}

// keyData is the data of an event of a key. It does not contain other workspaces of the key.
type keyData struct {
	ID         uuid.UUID  `json:"id"`
	Name       string     `json:"name"`
	Display    string     `json:"display"`
	Scopes     []string   `json:"scopes"`
	RolledFrom *uuid.UUID `json:"rolledFrom"`
	CreatedAt  time.Time  `json:"createdAt"`
	ExpiresAt  *time.Time `json:"expiresAt"`
	RevokedAt  *time.Time `json:"revokedAt"`
}

// KeyChanged queues an event for each workspace of a key that was created or revoked, in the transaction that did so.
func (db *Store) KeyChanged(ctx context.Context, tx pgx.Tx, k *access.Key) error {
	event := Event{Type: KeyCreated, Time: k.CreatedAt, Data: map[string]any{"key": keyData{
		ID: k.ID, Name: k.Name, Display: k.Display, Scopes: k.Scopes, RolledFrom: k.RolledFrom, CreatedAt: k.CreatedAt,
		ExpiresAt: k.ExpiresAt, RevokedAt: k.RevokedAt,
	}}}
	if k.RevokedAt != nil {
		event.Type, event.Time = KeyRevoked, *k.RevokedAt
	}
	for _, workspace := range k.Workspaces {
		event.ID = EventID(workspace, event.Type, k.ID)
		if _, err := db.Enqueue(ctx, tx, workspace, []Event{event}); err != nil {
			return fmt.Errorf("queueing the event of a key: %w", err)
		}
	}
	return nil
}

// DeadRecord is a record of a workspace that was written to the dead letters.
type DeadRecord struct {
	Workspace uuid.UUID
	Partition int32
	Offset    int64
	RequestID string
}

// deadData is the data of an event of dead letters.
type deadData struct {
	Records    int      `json:"records"`
	RequestIDs []string `json:"requestIds"` // at most maxRequestIDs
}

// QueueDeadRecords queues an event of a type for each workspace of the records. The same records have the same events.
func (db *Store) QueueDeadRecords(ctx context.Context, eventType string, records []DeadRecord) error {
	byWorkspace := map[uuid.UUID][]DeadRecord{}
	for _, r := range records {
		byWorkspace[r.Workspace] = append(byWorkspace[r.Workspace], r)
	}
	for workspace, dead := range byWorkspace {
		data := deadData{Records: len(dead), RequestIDs: []string{}}
		var places []byte
		for _, r := range dead {
			places = binary.BigEndian.AppendUint32(places, uint32(r.Partition))
			places = binary.BigEndian.AppendUint64(places, uint64(r.Offset))
			if r.RequestID != "" && len(data.RequestIDs) < maxRequestIDs {
				data.RequestIDs = append(data.RequestIDs, r.RequestID)
			}
		}
		event := Event{ID: EventID(workspace, eventType, places), Type: eventType, Time: time.Now(), Data: data}
		err := db.root.InTx(ctx, func(tx pgx.Tx) error {
			_, err := db.Enqueue(ctx, tx, workspace, []Event{event})
			return err
		})
		if err != nil {
			return fmt.Errorf("queueing the event of dead letters: %w", err)
		}
	}
	return nil
}
