// Package milvusstandalone runs Milvus standalone for tests, because it is closer to production than
// the milvus-lite of the embedded edition.
package milvusstandalone

import (
	"context"
	_ "embed"
	"fmt"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/internal/embedded/engine"
	"github.com/livegraph/livegraph/internal/embedded/install"
	"github.com/livegraph/livegraph/internal/embedded/supervisor"
	"github.com/livegraph/livegraph/internal/platform/durable"
)

// requirements pins the package by version and hash.
//
//go:embed requirements.txt
var requirements string

// program starts the server of the package.
//
//go:embed standalone.py
var program []byte

const (
	name        = "milvus-standalone"
	binaries    = "milvus/data/bin/milvus.lzma"
	stopTimeout = 8 * time.Second
)

// Install returns the package of Milvus standalone, and installs it if it is missing: about 80 MB to
// download, 310 MB on disk. progress may be nil.
func Install(ctx context.Context, progress func(engine.Event)) (*install.Packages, error) {
	set := install.PackageSet{Name: name, Requirements: requirements, Files: []string{binaries}}
	return set.Install(ctx, engine.NewReport(name, progress))
}

// Start starts Milvus standalone 2.3.2. Its address is 127.0.0.1:port. It has no password, and
// listens on all interfaces.
//
// It is stopped with SIGKILL, because after SIGTERM it takes half an hour to end. SIGKILL
// does not lose data. After a restart, it loads collections automatically, about 30 s later.
func Start(ctx context.Context, o engine.Options) (*supervisor.Process, error) {
	s, err := engine.NewSetup(ctx, name, Install, o)
	if err != nil {
		return nil, err
	}
	main := filepath.Join(s.Dir, "standalone.py")
	if err := durable.WriteFile(main, program, 0o600); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	address := func() string { return s.Endpoint.Address() }
	return s.Run(ctx, supervisor.Spec{
		Address: address,
		Command: func() (*exec.Cmd, error) {
			return s.PythonCommand(main, "--data", filepath.Join(s.Dir, "data")), nil
		},
		Ready:       func(ctx context.Context) error { return embedded.ProbeMilvus(ctx, address()) },
		StopSignal:  syscall.SIGKILL,
		StopTimeout: stopTimeout,
		DeathSignal: syscall.SIGKILL,
	})
}
