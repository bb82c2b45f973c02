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

// standalonePackages returns the package of Milvus standalone, which only tests use.
func standalonePackages() installation {
	return installation{standaloneName, standaloneRequirements, []string{standaloneModule}}
}

// InstallMilvusStandalone installs Milvus standalone: about 80 MB to download, 310 MB on disk.
func InstallMilvusStandalone(ctx context.Context, progress func(Event)) (*Packages, error) {
	return standalonePackages().install(ctx, reporter(standaloneName, progress))
}

// StartMilvusStandalone starts Milvus standalone 2.3.2 for tests, because it is closer to
// production than milvus-lite. Its address is 127.0.0.1:port. It has no password, and
// listens on all interfaces.
//
// It is stopped with SIGKILL, because after SIGTERM it takes half an hour to end. SIGKILL
// does not lose data. After a restart, it loads collections automatically, about 30 s later.
func StartMilvusStandalone(ctx context.Context, o EngineOptions) (*Process, error) {
	if o.Packages == nil {
		var err error
		if o.Packages, err = InstallMilvusStandalone(ctx, o.Progress); err != nil {
			return nil, err
		}
	}
	s, err := newEngineSetup(ctx, standaloneName, o)
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
		stopTimeout: milvusStopTimeout,
		deathSignal: syscall.SIGKILL,
	})
}
