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
	"sync/atomic"
	"time"

	"github.com/livegraph/livegraph/test/chaos/environment"
)

// Paths sends requests to API processes in turn, and checks that they have their effect on each path
// through the log.
type Paths struct {
	apis      []string
	key       string
	workspace string
	client    *http.Client
	sources   []string
	sent      *atomic.Int64 // also by the paths that Through returned
}

// NewPaths creates the sources whose points are sent. The more there are, the more partitions have some.
func NewPaths(ctx context.Context, apis []string, first environment.FirstRun, sources int) (*Paths, error) {
	p := &Paths{
		apis: apis, key: first.AdminKey, workspace: first.WorkspaceID, client: &http.Client{Timeout: 15 * time.Second},
		sent: &atomic.Int64{},
	}
	for n := range sources {
		var created struct{ ID string }
		if err := p.do(ctx, http.MethodPost, "/api/live-data/sources", map[string]any{
			"name": fmt.Sprintf("survivor-%d", n),
		}, http.StatusCreated, &created); err != nil {
			return nil, err
		}
		p.sources = append(p.sources, created.ID)
	}
	return p, nil
}

// Through returns the same paths through other API processes.
func (p *Paths) Through(apis []string) *Paths {
	through := *p
	through.apis = apis
	return &through
}

// Await waits until new points and nodes are accepted and can be read and found, and a request is
// in the audit log.
func (p *Paths) Await(ctx context.Context) error {
	for {
		err := p.check(ctx)
		if err == nil {
			return nil
		}
		sleep(ctx, 200*time.Millisecond)
		if ctx.Err() != nil {
			return err
		}
	}
}

func (p *Paths) check(ctx context.Context) error {
	checkpoint, err := p.ingest(ctx)
	if err != nil {
		return err
	}
	for _, source := range p.sources {
		query := url.Values{"sourceId": {source}, "checkpoint": {checkpoint}, "aggregation": {"count"}}
		if err := p.do(ctx, http.MethodGet, "/api/live-data/query?"+query.Encode(), nil, http.StatusOK, nil); err != nil {
			return err
		}
	}
	name := fmt.Sprintf("survivor%d", p.sent.Load())
	id, err := p.create(ctx, name)
	if err != nil {
		return err
	}
	var found []struct{ Node struct{ ID string } }
	if err := p.do(
		ctx, http.MethodPost, "/api/rag/search", map[string]any{"query": name}, http.StatusOK, &found,
	); err != nil {
		return err
	}
	for deadline := time.Now().Add(10 * time.Second); len(found) == 0 || found[0].Node.ID != id; {
		if time.Now().After(deadline) {
			return errors.New("a new node is not found")
		}
		sleep(ctx, 100*time.Millisecond)
		if err := p.do(
			ctx, http.MethodPost, "/api/rag/search", map[string]any{"query": name}, http.StatusOK, &found,
		); err != nil {
			return err
		}
	}
	return p.checkAudit(ctx)
}

// checkAudit sends a request and waits for its audit record.
func (p *Paths) checkAudit(ctx context.Context) error {
	request, err := p.request(ctx, http.MethodGet, "/api/me", nil)
	if err != nil {
		return err
	}
	answer, err := p.client.Do(request)
	if err != nil {
		return err
	}
	_ = answer.Body.Close()
	deadline := time.Now().Add(10 * time.Second)
	for ; time.Now().Before(deadline) && ctx.Err() == nil; sleep(ctx, 200*time.Millisecond) {
		var records []json.RawMessage
		err := p.do(
			ctx, http.MethodGet, "/api/admin/audit?requestId="+answer.Header.Get("X-Request-Id"), nil, http.StatusOK, &records,
		)
		if err == nil && len(records) > 0 {
			return nil
		}
	}
	return errors.New("a request is not in the audit log")
}

func (p *Paths) ingest(ctx context.Context) (checkpoint string, err error) {
	value := p.sent.Add(1)
	var points []any
	for _, source := range p.sources {
		points = append(points, map[string]any{
			"sourceId": source, "metric": "m", "value": value, "timestamp": time.Now().UnixMilli(),
		})
	}
	var accepted struct{ Checkpoint string }
	err = p.do(
		ctx, http.MethodPost, "/api/live-data/ingest", map[string]any{"points": points}, http.StatusCreated, &accepted,
	)
	return accepted.Checkpoint, err
}

func (p *Paths) create(ctx context.Context, name string) (id string, err error) {
	var created struct{ Node struct{ ID string } }
	err = p.do(ctx, http.MethodPost, "/api/commands/execute", map[string]any{
		"type": "CREATE_NODE", "payload": map[string]any{"name": name, "entityType": "object"},
	}, http.StatusCreated, &created)
	return created.Node.ID, err
}

func (p *Paths) request(ctx context.Context, method, path string, body any) (*http.Request, error) {
	var payload io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		payload = bytes.NewReader(raw)
	}
	request, err := http.NewRequestWithContext(ctx, method, p.apis[int(p.sent.Load())%len(p.apis)]+path, payload)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+p.key)
	request.Header.Set("X-Workspace-Id", p.workspace)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	return request, nil
}

// do sends a request, requires the status, and decodes the data of the answer.
func (p *Paths) do(ctx context.Context, method, path string, body any, status int, data any) error {
	request, err := p.request(ctx, method, path, body)
	if err != nil {
		return err
	}
	answer, err := p.client.Do(request)
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
