// Package rival runs other stores of points for comparison, with their default settings. Each is a
// process on the loopback interface that accepts line protocol by HTTP and counts the points that a
// query finds. If a store cannot run on a machine, its constructor returns an error and the comparison
// omits it.
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
	startLimit = 2 * time.Minute // from start until the program answers
	stopLimit  = 10 * time.Second
	startPoll  = 50 * time.Millisecond
	callLimit  = 2 * time.Minute // per request
	maxCallers = 256             // connections that are kept
)

// Rival is a started server.
type Rival struct {
	Name    string
	Version string
	Lines   string // URL for InfluxDB line protocol
	Series  string // URL for series as JSON lines (SeriesBody); "" if not supported

	base   string // URL
	seen   func(ctx context.Context, r *Rival, of Load) (found, all int64, err error)
	poll   time.Duration // interval of counts
	client *http.Client
	cmd    *exec.Cmd
}

// Load is a load of points of measurements in [From, To).
type Load struct {
	Measurements []string
	Points       int64 // of all measurements
	PerLine      int64 // points per line
	From, To     time.Time
}

// run starts the program and waits until path answers 200. The program ends with the test.
func (r *Rival) run(tb testing.TB, cmd *exec.Cmd, path string) error {
	tb.Helper()
	log, err := os.Create(filepath.Join(tb.TempDir(), r.Name+".log"))
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = log, log
	r.cmd = cmd
	r.client = &http.Client{Timeout: callLimit, Transport: &http.Transport{MaxIdleConnsPerHost: maxCallers}}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", r.Name, err)
	}
	var result error // set before ended is closed
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

// Pause pauses the process, so that others have the machine to themselves. Resume resumes it.
func (r *Rival) Pause() error { return r.cmd.Process.Signal(syscall.SIGSTOP) }

// Resume resumes a paused process. It closes idle connections first, because the process may close
// connections whose idle timeout expired during the pause.
func (r *Rival) Resume() error {
	r.client.CloseIdleConnections()
	return r.cmd.Process.Signal(syscall.SIGCONT)
}

// Send posts the bodies with the given number of concurrent callers and waits for all answers.
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

// visibleTimeout is the maximum time until all points of a load are visible.
const visibleTimeout = 5 * time.Minute

// AwaitVisible waits until a query finds all points of a load.
func (r *Rival) AwaitVisible(ctx context.Context, of Load) error {
	ctx, cancel := context.WithTimeout(ctx, visibleTimeout)
	defer cancel()
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

// Ask returns the answer to a GET of a path with its parameters.
func (r *Rival) Ask(ctx context.Context, path string) ([]byte, error) {
	return r.do(ctx, http.MethodGet, r.base+path, nil)
}

func (r *Rival) get(ctx context.Context, path string, query url.Values) ([]byte, error) {
	address := r.base + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	return r.do(ctx, http.MethodGet, address, nil)
}

// do sends a request that must succeed and returns the answer.
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
