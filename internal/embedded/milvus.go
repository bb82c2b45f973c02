package embedded

import (
	"context"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/milvus-io/milvus-sdk-go/v2/client"
)

const (
	milvusName     = "milvus"
	milvusModule   = "milvus_lite/__init__.py"
	pymilvusModule = "pymilvus/__init__.py" // an undeclared dependency of milvus-lite

	milvusStopTimeout = 8 * time.Second // the server waits 3 s for running calls
)

// StartMilvus starts milvus-lite. Its address is 127.0.0.1:port. It has no
// password.
func StartMilvus(ctx context.Context, o EngineOptions) (*Process, error) {
	s, err := newEngineSetup(ctx, milvusName, o)
	if err != nil {
		return nil, err
	}
	program, err := s.program("milvus", "server.py")
	if err != nil {
		return nil, err
	}
	address := func() string { return s.endpoint.address() }
	return s.run(ctx, spec{
		name:    milvusName,
		address: address,
		command: func() (*exec.Cmd, error) {
			cmd := exec.Command(s.Packages.Python(), program,
				"--data", filepath.Join(s.Dir, "data"), "--port", strconv.Itoa(s.endpoint.Port))
			cmd.Dir, cmd.Env = s.Dir, pythonEnv()
			return cmd, nil
		},
		ready:       func(ctx context.Context) error { return probeMilvus(ctx, address()) },
		stopSignal:  syscall.SIGTERM,
		stopTimeout: milvusStopTimeout,
		deathSignal: syscall.SIGKILL, // acknowledged writes are in its log
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
