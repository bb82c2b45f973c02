package embedded

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"github.com/livegraph/livegraph/internal/embedded/engine"
	"github.com/livegraph/livegraph/internal/embedded/supervisor"
)

const (
	clickhouseName = "clickhouse"
	chdbLibrary    = "chdb/_chdb.abi3.so"
	passwordEnv    = "CLICKHOUSE_FRONT_PASSWORD"

	clickhouseStopTimeout = 8 * time.Second // the server waits 5 s for running statements
	probeTimeout          = 2 * time.Second
)

// ClickHouseCluster is the name of the cluster of an embedded ClickHouse with shards.
const ClickHouseCluster = "livegraph"

// StartClickHouse starts ClickHouse: the chdb library behind an HTTP server. Its
// address is http://default:password@127.0.0.1:port/livegraph.
func StartClickHouse(ctx context.Context, o engine.Options) (*supervisor.Process, error) {
	return startClickHouse(ctx, o, Shards{})
}

// Shards are the shards of an imitated cluster within one process, for tests and trials.
type Shards struct {
	Count     int    // 0: one server
	ZooKeeper string // host:port; empty: tables are not replicated
}

// StartClickHouseShards is like StartClickHouse, but the server is a cluster of shards. The cluster has the name
// ClickHouseCluster. What is imitated is described in assets/clickhouse/shards.py.
func StartClickHouseShards(ctx context.Context, o engine.Options, shards Shards) (*supervisor.Process, error) {
	return startClickHouse(ctx, o, shards)
}

func startClickHouse(ctx context.Context, o engine.Options, shards Shards) (*supervisor.Process, error) {
	s, err := engine.NewSetup(ctx, clickhouseName, Install, o)
	if err != nil {
		return nil, err
	}
	if s.Memory == 0 {
		s.Memory = clickhouseMemory()
	}
	program, err := writeProgram(s, clickhouseName, "front.py")
	if err != nil {
		return nil, err
	}
	return s.Run(ctx, supervisor.Spec{
		Address: func() string {
			u := url.URL{
				Scheme: "http", User: url.UserPassword("default", s.Endpoint.Password), Host: s.Endpoint.Address(),
				Path: "/livegraph",
			}
			return u.String()
		},
		Command: func() (*exec.Cmd, error) {
			arguments := []string{"--data", s.Dir, "--memory", strconv.FormatInt(s.Memory, 10)}
			if shards.Count > 0 {
				arguments = append(arguments, "--shards", strconv.Itoa(shards.Count), "--zookeeper", shards.ZooKeeper)
			}
			cmd := s.PythonCommand(program, arguments...)
			cmd.Env = append(cmd.Env, passwordEnv+"="+s.Endpoint.Password)
			return cmd, nil
		},
		Ready: func(ctx context.Context) error {
			return probeHTTP(ctx, "http://"+s.Endpoint.Address()+"/ping")
		},
		StopSignal:  syscall.SIGTERM,
		StopTimeout: clickhouseStopTimeout,
		DeathSignal: syscall.SIGKILL,
	})
}

// clickhouseMemory returns the memory limit of ClickHouse: two fifths of the machine's
// memory, which it shares with four other engines and this process.
func clickhouseMemory() int64 {
	return max(machineMemory()/5*2, 1<<30)
}

// probeHTTP returns an error unless a server responds with status 200.
func probeHTTP(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	req.Close = true
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers %s", resp.Status)
	}
	return nil
}
