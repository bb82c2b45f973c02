package embedded

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	onnxModule       = "onnxruntime/__init__.py"
	tokenizersModule = "tokenizers/__init__.py"
	embedderKeyEnv   = "EMBEDDER_KEY"

	embedderStopTimeout = 8 * time.Second // the server waits 5 s for running requests
	embedderBatch       = 16
	maxEmbedderThreads  = 8 // by default; each requires memory for its batch
)

// The default model of the embedder.
const (
	EmbedderModel      = "all-MiniLM-L6-v2"
	EmbedderDimensions = 384
)

// EmbedderSettings are the settings of the embedder. The zero value is suitable for a machine
// that other engines share.
type EmbedderSettings struct {
	Model   string // one of config.EmbeddedModels; empty: EmbedderModel
	Threads int    // concurrent batches of passages, and of queries, each on one core; 0: one per core, at most 8
	Batch   int    // maximum number of texts in a batch; 0: 16
}

// EmbedderOptions are the options of the embedder.
type EmbedderOptions struct {
	engine.Options
	EmbedderSettings
}

// StartEmbedder starts a model with an OpenAI-compatible API. Its address is
// http://:key@127.0.0.1:port/v1.
func StartEmbedder(ctx context.Context, o EmbedderOptions) (*supervisor.Process, error) {
	o.Model = cmp.Or(o.Model, EmbedderModel)
	files, ok := embedderFiles[o.Model]
	if !ok {
		return nil, fmt.Errorf("starting the embedder: there is no model %q", o.Model)
	}
	s, err := engine.NewSetup(ctx, files.name, files.install, o.Options)
	if err != nil {
		return nil, err
	}
	program, err := writeProgram(s, embedderName, "server.py")
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
			cmd := s.PythonCommand(
				program, "--model", o.Model, "--threads", strconv.Itoa(o.Threads), "--batch", strconv.Itoa(o.Batch),
			)
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

// HadEmbedder reports whether the embedder with a model runs, or has ever run, on this data directory.
func (e *Engines) HadEmbedder(model string) bool {
	_, err := engine.ReadEndpoint(e.engineOptions(embedderFiles[model].name, nil).Dir)
	return !errors.Is(err, fs.ErrNotExist)
}

// StartEmbedder starts the embedder with a model, unless it is running, and returns its
// address. Stop stops it, too.
func (e *Engines) StartEmbedder(ctx context.Context, settings EmbedderSettings) (string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	settings.Model = cmp.Or(settings.Model, EmbedderModel)
	name := embedderFiles[settings.Model].name
	if p := e.embedders[name]; p != nil {
		return p.Address(), nil
	}
	o := e.engineOptions(name, nil)
	o.Progress = nil // it was for the progress of Start
	p, err := StartEmbedder(ctx, EmbedderOptions{Options: o, EmbedderSettings: settings})
	if err != nil {
		return "", err
	}
	e.embedders[name] = p
	e.registerEmbedders()
	return p.Address(), nil
}

// StopEmbedder stops only the embedder with a model, if it is running.
func (e *Engines) StopEmbedder(ctx context.Context, model string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	name := embedderFiles[model].name
	p := e.embedders[name]
	if p == nil {
		return nil
	}
	delete(e.embedders, name)
	return p.Stop(ctx)
}

// registerEmbedders registers the metrics of the restarts of embedders once they have been
// started. The caller holds the lock.
func (e *Engines) registerEmbedders() {
	if e.registerer == nil {
		return
	}
	for name := range e.embedders {
		if e.registered[name] {
			continue
		}
		e.registered[name] = true
		registerRestarts(e.registerer, name, func() float64 {
			e.mu.Lock()
			defer e.mu.Unlock()
			if p := e.embedders[name]; p != nil {
				return float64(p.Restarts())
			}
			return 0
		})
	}
}
