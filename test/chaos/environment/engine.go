package environment

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/livegraph/livegraph/test/chaos/proxy"
)

// Names of the engines.
const (
	Kafka      = "kafka"
	Kafka2     = "kafka-2" // the second broker of Apache Kafka
	ClickHouse = "clickhouse"
	Postgres   = "postgres"
	Redis      = "redis"
	Milvus     = "milvus"
	Embedder   = "embedder"
)

// server is the process of an engine or its supervisor.
type server interface{ PID() int }

// Engine is an engine and its proxy, at which network faults are injected.
type Engine struct {
	Name  string
	Proxy *proxy.Proxy
	// Direct is the address of the engine itself: a URL with credentials, or host:port. (Kafka
	// advertises the address of the proxy to every client.)
	Direct string
	// ProxyAddress is the address of the proxy, which the processes use.
	ProxyAddress string
	// Dir is the data directory.
	Dir  string
	Disk Disk // that contains its data

	server     server
	stop       func(context.Context) error
	restarting sync.Mutex
}

// newEngine returns an engine whose server runs, and makes the proxy forward to it.
func newEngine(name string, link *proxy.Proxy, direct string, s server, stop func(context.Context) error) *Engine {
	e := &Engine{Name: name, Proxy: link, Direct: direct, server: s, stop: stop}
	host := direct
	if strings.Contains(direct, "://") {
		if u, err := url.Parse(direct); err == nil {
			host = u.Host
			u.Host = link.Address()
			e.ProxyAddress = u.String()
		}
	} else {
		e.ProxyAddress = link.Address()
	}
	link.SetTarget(host)
	return e
}

// PID returns the process id; 0 while the engine does not run.
func (e *Engine) PID() int { return e.server.PID() }

// Kill kills the engine. Its supervisor starts it again.
func (e *Engine) Kill() {
	if process, ok := e.server.(*Process); ok {
		process.Kill() // it records that the exit is expected
		return
	}
	pid := e.PID()
	if pid == 0 {
		return
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	for e.PID() == pid { // until its supervisor has noticed
		time.Sleep(time.Millisecond)
	}
}

// KillChild kills one of the engine's child processes, chosen by pick. It returns false if there is
// none.
func (e *Engine) KillChild(pick func(n int) int) bool {
	children := processTree(e.PID())[1:]
	if e.PID() == 0 || len(children) == 0 {
		return false
	}
	_ = syscall.Kill(children[pick(len(children))], syscall.SIGKILL)
	return true
}

// Pause stops the engine's processes with SIGSTOP until resume is called.
func (e *Engine) Pause() (resume func()) { return pause(e.PID()) }

// WaitReady waits until the engine is ready, for two minutes at most.
func (e *Engine) WaitReady(ctx context.Context) error {
	if process, ok := e.server.(*Process); ok {
		return process.WaitReady(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for e.PID() == 0 {
		select {
		case <-time.After(probeInterval):
		case <-ctx.Done():
			return fmt.Errorf("%s does not come back: %w", e.Name, ctx.Err())
		}
	}
	return nil
}

// Restart stops the engine gracefully and starts it again; between is called while it is stopped,
// and may be nil. Concurrent restarts wait for each other.
func (e *Engine) Restart(ctx context.Context, between func() error) error {
	e.restarting.Lock()
	defer e.restarting.Unlock()
	if between == nil {
		between = func() error { return nil }
	}
	if process, ok := e.server.(*Process); ok {
		release := process.Hold()
		defer release()
		if err := process.Terminate(ctx); err != nil {
			return err
		}
		return between()
	}
	process, ok := e.server.(interface {
		Start(context.Context) error
		Stop(context.Context) error
	})
	if !ok {
		return fmt.Errorf("%s cannot be restarted", e.Name)
	}
	if err := process.Stop(ctx); err != nil {
		return errors.Join(err, startWithRetries(ctx, process.Start))
	}
	return errors.Join(between(), startWithRetries(ctx, process.Start))
}

// startWithRetries starts a stopped engine, with retries: its supervisor only restarts an engine
// that has run, and on a busy machine a start may time out.
func startWithRetries(ctx context.Context, do func(context.Context) error) (err error) {
	const tries = 3
	for range tries {
		if err = do(context.WithoutCancel(ctx)); err == nil || ctx.Err() != nil {
			break
		}
	}
	return err
}
