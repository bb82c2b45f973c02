package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/livegraph/livegraph/test/chaos/world"
)

// survivor is the load of faults that lose data: it sends, and when that is over wants
// what it sends from then on to be there, on each way through the log.
type survivor struct {
	apis   []string
	key    string
	space  string
	client *http.Client
	source string
	sent   int
}

func newSurvivor(ctx context.Context, w *world.World) (*survivor, error) {
	s := &survivor{
		apis: w.APIs(), key: w.First.AdminKey, space: w.First.WorkspaceID,
		client: &http.Client{Timeout: 15 * time.Second},
	}
	var made struct{ ID string }
	err := s.ask(
		ctx, http.MethodPost, "/api/live-data/sources", map[string]any{"name": "survivor"}, http.StatusCreated, &made,
	)
	s.source = made.ID
	return s, err
}

// Run sends points and makes nodes until ctx ends. What becomes of them is not looked at.
func (s *survivor) Run(ctx context.Context) {
	for ctx.Err() == nil {
		_, _ = s.ingest(ctx)
		_, _ = s.create(ctx, "a node")
		pause(ctx, 20*time.Millisecond)
	}
}

// Settle waits until new points and nodes are taken, shown, found, and in the audit log.
func (s *survivor) Settle(ctx context.Context) error {
	for {
		err := s.works(ctx)
		if err == nil {
			return nil
		}
		pause(ctx, 200*time.Millisecond)
		if ctx.Err() != nil {
			return err
		}
	}
}

// Check finds nothing wrong: what was lost was lost.
func (s *survivor) Check(context.Context) []Violation { return nil }

func (s *survivor) works(ctx context.Context) error {
	checkpoint, err := s.ingest(ctx)
	if err != nil {
		return err
	}
	query := url.Values{"sourceId": {s.source}, "checkpoint": {checkpoint}, "aggregation": {"count"}}
	if err := s.ask(ctx, http.MethodGet, "/api/live-data/query?"+query.Encode(), nil, http.StatusOK, nil); err != nil {
		return err
	}
	name := fmt.Sprintf("survivor%d", s.sent)
	id, err := s.create(ctx, name)
	if err != nil {
		return err
	}
	var found []struct{ Node struct{ ID string } }
	if err := s.ask(
		ctx, http.MethodPost, "/api/rag/search", map[string]any{"query": name}, http.StatusOK, &found,
	); err != nil {
		return err
	}
	for deadline := time.Now().Add(10 * time.Second); len(found) == 0 || found[0].Node.ID != id; {
		if time.Now().After(deadline) {
			return errors.New("a new node is not found")
		}
		pause(ctx, 100*time.Millisecond)
		if err := s.ask(
			ctx, http.MethodPost, "/api/rag/search", map[string]any{"query": name}, http.StatusOK, &found,
		); err != nil {
			return err
		}
	}
	return s.audited(ctx)
}

// audited makes a request that can be told from others and waits for its record.
func (s *survivor) audited(ctx context.Context) error {
	request, err := s.request(ctx, http.MethodGet, "/api/me", nil)
	if err != nil {
		return err
	}
	answer, err := s.client.Do(request)
	if err != nil {
		return err
	}
	_ = answer.Body.Close()
	deadline := time.Now().Add(10 * time.Second)
	for ; time.Now().Before(deadline) && ctx.Err() == nil; pause(ctx, 200*time.Millisecond) {
		var records []json.RawMessage
		err := s.ask(
			ctx, http.MethodGet, "/api/admin/audit?requestId="+answer.Header.Get("X-Request-Id"), nil, http.StatusOK, &records,
		)
		if err == nil && len(records) > 0 {
			return nil
		}
	}
	return errors.New("a request is not in the audit log")
}

func (s *survivor) ingest(ctx context.Context) (checkpoint string, err error) {
	s.sent++
	var accepted struct{ Checkpoint string }
	err = s.ask(ctx, http.MethodPost, "/api/live-data/ingest", map[string]any{"points": []any{
		map[string]any{"sourceId": s.source, "metric": "m", "value": s.sent, "timestamp": time.Now().UnixMilli()},
	}}, http.StatusCreated, &accepted)
	return accepted.Checkpoint, err
}

func (s *survivor) create(ctx context.Context, name string) (id string, err error) {
	var made struct{ Node struct{ ID string } }
	err = s.ask(ctx, http.MethodPost, "/api/commands/execute", map[string]any{
		"type": "CREATE_NODE", "payload": map[string]any{"name": name, "entityType": "object"},
	}, http.StatusCreated, &made)
	return made.Node.ID, err
}

func (s *survivor) request(ctx context.Context, method, path string, body any) (*http.Request, error) {
	var payload io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		payload = bytes.NewReader(raw)
	}
	request, err := http.NewRequestWithContext(ctx, method, s.apis[s.sent%len(s.apis)]+path, payload)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+s.key)
	request.Header.Set("X-Workspace-Id", s.space)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	return request, nil
}

// ask makes a request and decodes the data of an answer of the status that is wanted.
func (s *survivor) ask(ctx context.Context, method, path string, body any, status int, data any) error {
	request, err := s.request(ctx, method, path, body)
	if err != nil {
		return err
	}
	answer, err := s.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode != status {
		what, _, _ := strings.Cut(path, "?")
		return fmt.Errorf("%s %s was answered %d: %s", method, what, answer.StatusCode, raw)
	}
	if data == nil {
		return nil
	}
	whole := struct{ Data any }{data}
	return json.Unmarshal(raw, &whole)
}
