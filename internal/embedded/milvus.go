package embedded

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/livegraph/livegraph/internal/embedded/engine"
	"github.com/livegraph/livegraph/internal/embedded/supervisor"
)

const (
	milvusName     = "milvus"
	milvusModule   = "milvus_lite/__init__.py"
	pymilvusModule = "pymilvus/__init__.py" // an undeclared dependency of milvus-lite

	milvusStopTimeout = 8 * time.Second // the server waits 3 s for running calls
	maxVersionBytes   = 1 << 10         // of the response to a probe
)

// StartMilvus starts milvus-lite. Its address is 127.0.0.1:port. It has no
// password.
func StartMilvus(ctx context.Context, o engine.Options) (*supervisor.Process, error) {
	s, err := engine.NewSetup(ctx, milvusName, Install, o)
	if err != nil {
		return nil, err
	}
	program, err := writeProgram(s, milvusName, "server.py")
	if err != nil {
		return nil, err
	}
	address := func() string { return s.Endpoint.Address() }
	return s.Run(ctx, supervisor.Spec{
		Address: address,
		Command: func() (*exec.Cmd, error) {
			cmd := s.PythonCommand(program, "--data", filepath.Join(s.Dir, "data"))
			// Otherwise the idle threads of its libraries keep a processor busy for milliseconds after each search,
			// and longer on a busy machine. OpenBLAS has no threads that wait passively. One thread compares a query
			// with all vectors of a file in less than a millisecond to a few.
			cmd.Env = append(cmd.Env, "OMP_WAIT_POLICY=passive", "OPENBLAS_NUM_THREADS=1")
			return cmd, nil
		},
		Ready:       func(ctx context.Context) error { return ProbeMilvus(ctx, address()) },
		StopSignal:  syscall.SIGTERM,
		StopTimeout: milvusStopTimeout,
		DeathSignal: syscall.SIGKILL, // acknowledged writes are in its log
	})
}

// milvusVersionMethod returns the version. Its request is an empty message.
const milvusVersionMethod = "/milvus.proto.milvus.MilvusService/GetVersion"

// ProbeMilvus requests the version of a server by gRPC, and returns an error if it does not respond. It does not
// use Milvus' client, which would add a second to the time to link each test binary that starts an engine.
func ProbeMilvus(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	emptyMessage := bytes.NewReader(make([]byte, 5)) // uncompressed, of length 0
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+milvusVersionMethod, emptyMessage)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/grpc")
	req.Header.Set("TE", "trailers")
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(resp.Body, maxVersionBytes)); err != nil {
		return err
	}
	if status := resp.Trailer.Get("Grpc-Status"); resp.StatusCode != http.StatusOK || status != "0" {
		return fmt.Errorf("it answers %s with gRPC status %q", resp.Status, status)
	}
	return nil
}
