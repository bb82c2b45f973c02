// Package rival runs other stores of points for comparison, as they come and with
// their own defaults: each a process on the loopback that takes lines by HTTP and says
// how many points a query finds. Which cannot be had on a machine gives an error that
// says why, and the comparison is made without it.
package rival

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	startLimit = 2 * time.Minute // a program's, until it answers
	stopLimit  = 10 * time.Second
	startPoll  = 50 * time.Millisecond
	callLimit  = 2 * time.Minute // one request's
)

// Rival is a started server.
type Rival struct {
	Name    string
	Version string
	Lines   string // the URL that takes InfluxDB's lines
	Series  string // the URL that takes series as JSON lines (SeriesBody); "" for none

	base   string // URL
	seen   func(ctx context.Context, r *Rival, of Load) (found, all int64, err error)
	poll   time.Duration // between two looks at what is there
	client *http.Client
	cmd    *exec.Cmd
}

// Load is what is sent at a time: measurements' points from one moment until before
// another.
type Load struct {
	Measurements []string
	Points       int64 // of all of them
	PerLine      int64 // of them
	From, To     time.Time
}

// run starts the program and waits until its path answers 200. It ends with the test.
func (r *Rival) run(tb testing.TB, cmd *exec.Cmd, path string) error {
	tb.Helper()
	log, err := os.Create(filepath.Join(tb.TempDir(), r.Name+".log"))
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = log, log
	r.cmd = cmd
	r.client = &http.Client{Timeout: callLimit, Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", r.Name, err)
	}
	var result error // once ended is closed
	ended := make(chan struct{})
	go func() { result = cmd.Wait(); close(ended) }()
	tb.Cleanup(func() { r.stop(ended); _ = log.Close() })
	for deadline := time.Now().Add(startLimit); time.Now().Before(deadline); {
		select {
		case <-ended:
			text, _ := os.ReadFile(log.Name())
			return fmt.Errorf("%s ended while starting: %w\n%s", r.Name, result, text)
		case <-time.After(startPoll):
		}
		if _, err := r.get(tb.Context(), path, nil); err == nil {
			return nil
		}
	}
	return fmt.Errorf("%s does not answer", r.Name)
}

func (r *Rival) stop(ended <-chan struct{}) {
	r.client.CloseIdleConnections()
	_ = r.cmd.Process.Signal(syscall.SIGCONT)
	_ = r.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-ended:
	case <-time.After(stopLimit):
		_ = r.cmd.Process.Kill()
		<-ended
	}
}

// PID returns the process's id.
func (r *Rival) PID() int { return r.cmd.Process.Pid }

// Rest stops the process where it is, so that others have the machine for themselves;
// Wake lets it go on.
func (r *Rival) Rest() error { return r.cmd.Process.Signal(syscall.SIGSTOP) }

// Wake lets a resting process go on.
func (r *Rival) Wake() error { return r.cmd.Process.Signal(syscall.SIGCONT) }

// Send posts the bodies by so many callers at a time, each as soon as one before it
// is answered, and returns when all are.
func (r *Rival) Send(ctx context.Context, to string, bodies [][]byte, callers int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(callers)
	for _, body := range bodies {
		if ctx.Err() != nil {
			break // one has failed
		}
		group.Go(func() error {
			_, err := r.do(ctx, http.MethodPost, to, body)
			return err
		})
	}
	return group.Wait()
}

// AwaitVisible returns when a query finds all of a load.
func (r *Rival) AwaitVisible(ctx context.Context, of Load) error {
	for {
		found, all, err := r.seen(ctx, r, of)
		if err != nil || found == all {
			return err
		}
		if found > all {
			return fmt.Errorf("%s has %d of %d", r.Name, found, all)
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), fmt.Errorf("%s has %d of %d", r.Name, found, all))
		case <-time.After(r.poll):
		}
	}
}

func (r *Rival) get(ctx context.Context, path string, query url.Values) ([]byte, error) {
	address := r.base + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	return r.do(ctx, http.MethodGet, address, nil)
}

// do makes a request that must succeed and gives the answer.
func (r *Rival) do(ctx context.Context, method, address string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	response, err := r.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: %s: %.300s", r.Name, method, response.Status, answer)
	}
	return answer, err
}
