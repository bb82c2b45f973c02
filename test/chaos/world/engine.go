package world

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

// server is an engine's process, anyone who looks after it.
type server interface{ PID() int }

// Engine is an engine and the way to it on which faults happen.
type Engine struct {
	Name  string
	Proxy *proxy.Proxy
	// Direct is its address past the proxy: a URL with credentials, or host:port.
	// (Kafka tells its clients to connect through the proxy, anyone who asks.)
	Direct string
	// Through is the address that Livegraph is given.
	Through string
	// Dir is the folder of its data.
	Dir  string
	Disk Disk // that its data are on

	server     server
	stop       func(context.Context) error
	restarting sync.Mutex
}

// newEngine completes an engine whose server runs: the proxy leads there.
func newEngine(name string, way *proxy.Proxy, direct string, s server, stop func(context.Context) error) *Engine {
	e := &Engine{Name: name, Proxy: way, Direct: direct, server: s, stop: stop}
	host := direct
	if strings.Contains(direct, "://") {
		if u, err := url.Parse(direct); err == nil {
			host = u.Host
			u.Host = way.Address()
			e.Through = u.String()
		}
	} else {
		e.Through = way.Address()
	}
	way.To(host)
	return e
}

// PID is its process's id; 0 while it does not run.
func (e *Engine) PID() int { return e.server.PID() }

// Kill ends it at once. It is started again by itself.
func (e *Engine) Kill() {
	if process, ours := e.server.(*Process); ours {
		process.Kill() // which then knows that it was asked for
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

// KillPart ends one of the processes that it has made, chosen by pick; false: there is none.
func (e *Engine) KillPart(pick func(n int) int) bool {
	parts := family(e.PID())[1:]
	if e.PID() == 0 || len(parts) == 0 {
		return false
	}
	_ = syscall.Kill(parts[pick(len(parts))], syscall.SIGKILL)
	return true
}

// Pause stops it and all its processes where they are.
func (e *Engine) Pause() (resume func()) { return pause(e.PID()) }

// WaitReady waits until it answers, for two minutes at most.
func (e *Engine) WaitReady(ctx context.Context) error {
	if process, ours := e.server.(*Process); ours {
		return process.WaitReady(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	for e.PID() == 0 {
		select {
		case <-time.After(readyEvery):
		case <-ctx.Done():
			return fmt.Errorf("%s does not come back: %w", e.Name, ctx.Err())
		}
	}
	return nil
}

// Restart ends the engine in order and starts it again; meanwhile is done in between
// and may be nil. Another restart of it waits.
func (e *Engine) Restart(ctx context.Context, meanwhile func() error) error {
	e.restarting.Lock()
	defer e.restarting.Unlock()
	if meanwhile == nil {
		meanwhile = func() error { return nil }
	}
	if process, ours := e.server.(*Process); ours {
		release := process.Hold()
		defer release()
		if err := process.Terminate(ctx); err != nil {
			return err
		}
		return meanwhile()
	}
	process, ok := e.server.(interface {
		Start(context.Context) error
		Stop(context.Context) error
	})
	if !ok {
		return fmt.Errorf("%s cannot be restarted", e.Name)
	}
	if err := process.Stop(ctx); err != nil {
		return errors.Join(err, start(ctx, process.Start))
	}
	return errors.Join(meanwhile(), start(ctx, process.Start))
}

// start starts what was stopped, again if that fails: its supervisor does so only for
// what ran once, and on a machine that has other things to do a start may take too long.
func start(ctx context.Context, do func(context.Context) error) (err error) {
	const tries = 3
	for range tries {
		if err = do(context.WithoutCancel(ctx)); err == nil || ctx.Err() != nil {
			break
		}
	}
	return err
}
