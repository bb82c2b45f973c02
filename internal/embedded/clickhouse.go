package embedded

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	clickhouseName = "clickhouse"
	chdbLibrary    = "chdb/_chdb.abi3.so"
	passwordEnv    = "LIVEGRAPH_CLICKHOUSE_PASSWORD"

	clickhouseStopLimit = 8 * time.Second // the front gives statements in flight 5 s
	probeTimeout        = 2 * time.Second
)

// front is ClickHouse's HTTP interface over the chdb library, in Python.
//
//go:embed assets/clickhouse
var front embed.FS

// StartClickHouse starts ClickHouse: the chdb library behind an HTTP front. Its
// address is http://default:password@127.0.0.1:port/default.
func StartClickHouse(ctx context.Context, o EngineOptions) (*Process, error) {
	s, err := newSite(ctx, clickhouseName, o)
	if err != nil {
		return nil, err
	}
	program := filepath.Join(s.Dir, "front")
	if err := unpack(front, "assets/clickhouse", program); err != nil {
		return nil, fmt.Errorf("starting clickhouse: %w", err)
	}
	address := url.URL{Scheme: "http", User: url.UserPassword("default", s.endpoint.Password), Host: s.endpoint.address(), Path: "/default"}
	return s.run(ctx, spec{
		name: clickhouseName,
		command: func() (*exec.Cmd, error) {
			cmd := exec.Command(s.Packages.python(), filepath.Join(program, "front.py"), "--data", s.Dir,
				"--port", strconv.Itoa(s.endpoint.Port), "--memory", strconv.FormatInt(clickhouseMemory(), 10))
			cmd.Dir = s.Dir
			cmd.Env = append(pythonEnv(), passwordEnv+"="+s.endpoint.Password, "TZ=UTC")
			return cmd, nil
		},
		ready: func(ctx context.Context) error {
			return probeHTTP(ctx, "http://"+s.endpoint.address()+"/ping")
		},
		stopSignal:  syscall.SIGTERM,
		stopLimit:   clickhouseStopLimit,
		deathSignal: syscall.SIGKILL,
	}, address.String())
}

// clickhouseMemory is what ClickHouse may use: two fifths of the machine, for it
// shares it with four other engines and with us.
func clickhouseMemory() int64 {
	return max(machineMemory()/5*2, 1<<30)
}

// probeHTTP reports whether a server answers 200.
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

// pythonEnv is our environment without what would lead an interpreter to
// modules other than the venv's, or to other behaviour.
func pythonEnv() []string {
	env := make([]string, 0, len(os.Environ()))
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "PYTHON") && !strings.HasPrefix(kv, "LIVEGRAPH_") {
			env = append(env, kv)
		}
	}
	return append(env, "PYTHONNOUSERSITE=1", "PYTHONDONTWRITEBYTECODE=1", "PYTHONUNBUFFERED=1")
}

// unpack writes the files of an embedded folder to dir.
func unpack(from embed.FS, root, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return fs.WalkDir(from, root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		raw, err := from.ReadFile(path)
		if err != nil {
			return err
		}
		return writeFileAtomically(filepath.Join(dir, filepath.Base(path)), raw, 0o600)
	})
}
