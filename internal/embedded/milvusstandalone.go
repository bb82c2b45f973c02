package embedded

import (
	"context"
	_ "embed"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

//go:embed requirements-milvus.txt
var standaloneRequirements string

const (
	standaloneName   = "milvus-standalone"
	standaloneModule = "milvus/data/bin/milvus.lzma"
)

// standalonePackages are Milvus standalone, apart from the rest: only tests need it.
func standalonePackages() installation {
	return installation{standaloneName, standaloneRequirements, []string{standaloneModule}}
}

// InstallMilvusStandalone makes Milvus standalone ready: about 80 MB, and 310 MB on disk.
func InstallMilvusStandalone(ctx context.Context, progress func(Event)) (*Packages, error) {
	return standalonePackages().ready(ctx, reporter(standaloneName, progress))
}

// StartMilvusStandalone starts Milvus standalone 2.3.2, which is closer to what
// production runs than milvus-lite is: Livegraph's tests are tried on it. Its address
// is 127.0.0.1:port; it knows no password, and listens on every interface.
//
// It is ended by SIGKILL, because it takes SIGTERM for half an hour's notice, and it
// survives that. After it, collections are loaded again by themselves, some 30 s later.
func StartMilvusStandalone(ctx context.Context, o EngineOptions) (*Process, error) {
	if o.Packages == nil {
		var err error
		if o.Packages, err = InstallMilvusStandalone(ctx, o.Progress); err != nil {
			return nil, err
		}
	}
	s, err := newSite(ctx, standaloneName, o)
	if err != nil {
		return nil, err
	}
	program, err := s.program(standaloneName, "standalone.py")
	if err != nil {
		return nil, err
	}
	address := func() string { return s.endpoint.address() }
	return s.run(ctx, spec{
		name:    standaloneName,
		address: address,
		command: func() (*exec.Cmd, error) {
			cmd := exec.Command(s.Packages.Python(), program,
				"--data", filepath.Join(s.Dir, "data"), "--port", strconv.Itoa(s.endpoint.Port))
			cmd.Dir, cmd.Env = s.Dir, pythonEnv()
			return cmd, nil
		},
		ready:       func(ctx context.Context) error { return probeMilvus(ctx, address()) },
		stopSignal:  syscall.SIGKILL,
		stopLimit:   milvusStopLimit,
		deathSignal: syscall.SIGKILL,
	})
}
