// Package zookeeper runs Apache ZooKeeper, which replicated tables of ClickHouse require, for tests. It
// requires Java 17, and Maven for the installation.
package zookeeper

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/livegraph/livegraph/internal/embedded/engine"
	"github.com/livegraph/livegraph/internal/embedded/supervisor"
	"github.com/livegraph/livegraph/internal/platform/durable"
	"github.com/livegraph/livegraph/test/engines/jars"
)

const (
	name         = "apache-zookeeper"
	stopTimeout  = 10 * time.Second
	probeTimeout = 2 * time.Second
)

// pom is the Maven project with the jars of Apache ZooKeeper.
//
//go:embed assets/pom.xml
var pom string

// sums pins every jar by hash, in the format of sha256sum.
//
//go:embed assets/jars.sha256
var sums string

// Install returns the jars of ZooKeeper, and installs them if they are missing. The error describes what
// this machine lacks. progress may be nil.
func Install(ctx context.Context, progress func(engine.Event)) (*jars.Installation, error) {
	set := jars.Set{Name: name, Title: "Apache ZooKeeper", POM: pom, Sums: sums, Size: "15 MB"}
	return set.Install(ctx, progress)
}

// Start starts one server on the loopback interface. Its address is host:port.
func Start(ctx context.Context, o engine.Options) (*supervisor.Process, error) {
	installation, err := Install(ctx, o.Progress)
	if err != nil {
		return nil, err
	}
	s, err := engine.NewSetup(ctx, name, nil, o)
	if err != nil {
		return nil, err
	}
	address := func() string { return s.Endpoint.Address() }
	return s.Run(ctx, supervisor.Spec{
		Address: address,
		Command: func() (*exec.Cmd, error) {
			settings := fmt.Sprintf("dataDir=%s\nclientPortAddress=127.0.0.1\nclientPort=%d\nadmin.enableServer=false\n"+
				"4lw.commands.whitelist=ruok\nmaxClientCnxns=0\n", filepath.Join(s.Dir, "data"), s.Endpoint.Port)
			if err := durable.WriteFile(filepath.Join(s.Dir, "zoo.cfg"), []byte(settings), 0o600); err != nil {
				return nil, err
			}
			options := []string{"-Xmx256m", "-XX:+ExitOnOutOfMemoryError"}
			return installation.Command(s.Dir, options, "org.apache.zookeeper.server.ZooKeeperServerMain", "zoo.cfg"), nil
		},
		Ready:       func(ctx context.Context) error { return probe(ctx, address()) },
		StopSignal:  syscall.SIGTERM,
		StopTimeout: stopTimeout,
		DeathSignal: syscall.SIGKILL,
	})
}

// probe returns an error unless the server responds.
func probe(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	if _, err := io.WriteString(conn, "ruok"); err != nil {
		return err
	}
	answer, err := io.ReadAll(conn)
	if err == nil && string(answer) != "imok" {
		err = errors.New("it does not answer imok")
	}
	return err
}
