package embedded

import (
	"context"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/milvus-io/milvus-sdk-go/v2/client"

	"github.com/livegraph/livegraph/internal/embedded/engine"
	"github.com/livegraph/livegraph/internal/embedded/supervisor"
)

const (
	milvusName     = "milvus"
	milvusModule   = "milvus_lite/__init__.py"
	pymilvusModule = "pymilvus/__init__.py" // an undeclared dependency of milvus-lite

	milvusStopTimeout = 8 * time.Second // the server waits 3 s for running calls
)

// StartMilvus starts milvus-lite. Its address is 127.0.0.1:port. It has no
// password.
func StartMilvus(ctx context.Context, o engine.Options) (*supervisor.Process, error) {
	s, err := engine.NewSetup(ctx, milvusName, Install, o)
	if err != nil {
		return nil, err
	}
	program, err := writeProgram(s, "server.py")
	if err != nil {
		return nil, err
	}
	address := func() string { return s.Endpoint.Address() }
	return s.Run(ctx, supervisor.Spec{
		Address: address,
		Command: func() (*exec.Cmd, error) {
			return s.PythonCommand(program, "--data", filepath.Join(s.Dir, "data")), nil
		},
		Ready:       func(ctx context.Context) error { return probeMilvus(ctx, address()) },
		StopSignal:  syscall.SIGTERM,
		StopTimeout: milvusStopTimeout,
		DeathSignal: syscall.SIGKILL, // acknowledged writes are in its log
	})
}

// probeMilvus requests the version.
func probeMilvus(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	c, err := client.NewClient(ctx, client.Config{Address: address})
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.GetVersion(ctx)
	return err
}
