package load

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// operator creates workspaces and keys through the API of the admin UI.
type operator struct {
	client   *client
	name     string
	password string

	mu     sync.Mutex
	cookie string
	token  string
}

// login opens a session.
func (o *operator) login(ctx context.Context) error {
	a, err := o.client.doUntilAnswered(ctx, call{
		method: http.MethodPost, path: "/admin/api/session", errorExpected: true,
		body: body(map[string]string{"name": o.name, "password": o.password}),
	})
	if err != nil {
		return fmt.Errorf("logging in: %w", err)
	}
	var session struct{ CSRFToken string }
	if a.Status != http.StatusOK {
		return fmt.Errorf("logging in: %d %s", a.Status, a.Error.Message)
	}
	if err := a.decodeData(&session); err != nil {
		return err
	}
	o.cookie, _, _ = strings.Cut(a.Header.Get("Set-Cookie"), ";")
	o.token = session.CSRFToken
	return nil
}

// session returns the headers of an open session.
func (o *operator) session(ctx context.Context, renew bool) (map[string]string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.cookie == "" || renew {
		if err := o.login(ctx); err != nil {
			return nil, err
		}
	}
	return map[string]string{"Cookie": o.cookie, "X-CSRF-Token": o.token, "Sec-Fetch-Site": "same-origin"}, nil
}

// send sends a request in the session, or in a new one if that has ended.
func (o *operator) send(ctx context.Context, q call) (*answer, error) {
	for renew := false; ; renew = true {
		header, err := o.session(ctx, renew)
		if err != nil {
			return nil, err
		}
		q.header, q.errorExpected = header, true
		a, err := o.client.do(ctx, q)
		if err == nil && a.Status == http.StatusUnauthorized && !renew {
			continue
		}
		return a, err
	}
}

// do repeats an idempotent request until it is answered with the status, and decodes its data.
func (o *operator) do(ctx context.Context, q call, status int, data any) error {
	var last error
	for {
		a, err := o.send(ctx, q)
		switch {
		case !outcomeUnknown(a, err) && a.Status != status:
			return fmt.Errorf("%s %s: %d %s", q.method, q.path, a.Status, a.Error.Message)
		case !outcomeUnknown(a, err) && data == nil:
			return nil
		case !outcomeUnknown(a, err):
			return a.decodeData(data)
		case err != nil:
			last = err
		default:
			last = fmt.Errorf("%w: %d %s", errUnknown, a.Status, a.Error.Message)
		}
		if !sleep(ctx, retryPause) {
			return last
		}
	}
}

// createdKey is the answer to the creation of a key.
type createdKey struct{ ID, Key string }

// createKey creates a key of a tenant with scopes.
func (o *operator) createKey(ctx context.Context, t *tenant, name string, scopes ...string) (access, error) {
	var made createdKey
	err := o.do(ctx, call{method: http.MethodPost, path: "/admin/api/keys", body: body(map[string]any{
		"name": t.canary + " " + name, "workspaces": []string{t.id}, "scopes": scopes,
	})}, http.StatusCreated, &made)
	return access{tenant: t, id: made.ID, text: made.Key}, err
}
