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

	"github.com/livegraph/livegraph/test/chaos/environment"
)

// lossLoad is the load for faults that lose data: it sends requests, ignores what becomes of those
// sent during the fault, and requires that later ones have their effect on each path through the
// log.
type lossLoad struct {
	apis      []string
	key       string
	workspace string
	client    *http.Client
	source    string
	sent      int
}

func newLossLoad(ctx context.Context, env *environment.Environment) (*lossLoad, error) {
	s := &lossLoad{
		apis: env.APIs(), key: env.First.AdminKey, workspace: env.First.WorkspaceID,
		client: &http.Client{Timeout: 15 * time.Second},
	}
	var created struct{ ID string }
	err := s.do(
		ctx, http.MethodPost, "/api/live-data/sources", map[string]any{"name": "survivor"}, http.StatusCreated, &created,
	)
	s.source = created.ID
	return s, err
}

// Run sends points and creates nodes until ctx ends. It ignores the outcomes.
func (s *lossLoad) Run(ctx context.Context) {
	for ctx.Err() == nil {
		_, _ = s.ingest(ctx)
		_, _ = s.create(ctx, "a node")
		sleep(ctx, 20*time.Millisecond)
	}
}

// Settle waits until new points and nodes are accepted and can be read and found, and a request is
// in the audit log.
func (s *lossLoad) Settle(ctx context.Context) error {
	for {
		err := s.checkPaths(ctx)
		if err == nil {
			return nil
		}
		sleep(ctx, 200*time.Millisecond)
		if ctx.Err() != nil {
			return err
		}
	}
}

// Check returns no violations: the losses are expected.
func (s *lossLoad) Check(context.Context) []Violation { return nil }

func (s *lossLoad) checkPaths(ctx context.Context) error {
	checkpoint, err := s.ingest(ctx)
	if err != nil {
		return err
	}
	query := url.Values{"sourceId": {s.source}, "checkpoint": {checkpoint}, "aggregation": {"count"}}
	if err := s.do(ctx, http.MethodGet, "/api/live-data/query?"+query.Encode(), nil, http.StatusOK, nil); err != nil {
		return err
	}
	name := fmt.Sprintf("survivor%d", s.sent)
	id, err := s.create(ctx, name)
	if err != nil {
		return err
	}
	var found []struct{ Node struct{ ID string } }
	if err := s.do(
		ctx, http.MethodPost, "/api/rag/search", map[string]any{"query": name}, http.StatusOK, &found,
	); err != nil {
		return err
	}
	for deadline := time.Now().Add(10 * time.Second); len(found) == 0 || found[0].Node.ID != id; {
		if time.Now().After(deadline) {
			return errors.New("a new node is not found")
		}
		sleep(ctx, 100*time.Millisecond)
		if err := s.do(
			ctx, http.MethodPost, "/api/rag/search", map[string]any{"query": name}, http.StatusOK, &found,
		); err != nil {
			return err
		}
	}
	return s.checkAudit(ctx)
}

// checkAudit sends a request and waits for its audit record.
func (s *lossLoad) checkAudit(ctx context.Context) error {
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
	for ; time.Now().Before(deadline) && ctx.Err() == nil; sleep(ctx, 200*time.Millisecond) {
		var records []json.RawMessage
		err := s.do(
			ctx, http.MethodGet, "/api/admin/audit?requestId="+answer.Header.Get("X-Request-Id"), nil, http.StatusOK, &records,
		)
		if err == nil && len(records) > 0 {
			return nil
		}
	}
	return errors.New("a request is not in the audit log")
}

func (s *lossLoad) ingest(ctx context.Context) (checkpoint string, err error) {
	s.sent++
	var accepted struct{ Checkpoint string }
	err = s.do(ctx, http.MethodPost, "/api/live-data/ingest", map[string]any{"points": []any{
		map[string]any{"sourceId": s.source, "metric": "m", "value": s.sent, "timestamp": time.Now().UnixMilli()},
	}}, http.StatusCreated, &accepted)
	return accepted.Checkpoint, err
}

func (s *lossLoad) create(ctx context.Context, name string) (id string, err error) {
	var created struct{ Node struct{ ID string } }
	err = s.do(ctx, http.MethodPost, "/api/commands/execute", map[string]any{
		"type": "CREATE_NODE", "payload": map[string]any{"name": name, "entityType": "object"},
	}, http.StatusCreated, &created)
	return created.Node.ID, err
}

func (s *lossLoad) request(ctx context.Context, method, path string, body any) (*http.Request, error) {
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
	request.Header.Set("X-Workspace-Id", s.workspace)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	return request, nil
}

// do sends a request, requires the status, and decodes the data of the answer.
func (s *lossLoad) do(ctx context.Context, method, path string, body any, status int, data any) error {
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
	envelope := struct{ Data any }{data}
	return json.Unmarshal(raw, &envelope)
}
