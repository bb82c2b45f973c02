// Package engine prepares an engine for its start on this machine: its folder, its endpoint (port
// and passwords, which stay the same after a restart), its packages and the reports of its
// progress. It is for engines of any kind; package embedded has those of the embedded edition.
//
// A start function calls [NewSetup] and then [Setup.Run], if the engine is a child process, or
// [Setup.StartOnFreePort], if it is part of this process.
package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/livegraph/livegraph/internal/embedded/install"
	"github.com/livegraph/livegraph/internal/embedded/supervisor"
)

// Options are the options of one engine. Only Dir is required.
type Options struct {
	Dir      string            // folder of its data, port and passwords; created if missing
	LogDir   string            // folder of its log; default: Dir
	Packages *install.Packages // default: installed by the engine's Installer
	Logger   *slog.Logger      // default: slog.Default
	Progress func(Event)       // default: none
	Memory   int64             // bytes that ClickHouse may use; default: two fifths of the machine's
}

// Installer returns the packages of an engine, and installs them if they are missing. progress may
// be nil.
type Installer func(ctx context.Context, progress func(Event)) (*install.Packages, error)

// Setup has the options of an engine with defaults applied, and its endpoint.
type Setup struct {
	Options
	Name     string
	Endpoint Endpoint // read it at each start: it changes if the port is in use
	Report   install.Report
}

// NewSetup applies the defaults, creates the folders, installs the packages unless the options
// have them, and loads the endpoint or creates one. packages is nil for an engine without Python
// packages.
func NewSetup(ctx context.Context, name string, packages Installer, o Options) (*Setup, error) {
	if o.LogDir == "" {
		o.LogDir = o.Dir
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	o.Dir = dir
	if o.LogDir, err = filepath.Abs(o.LogDir); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	for _, dir := range []string{o.Dir, o.LogDir} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("starting %s: %w", name, err)
		}
	}
	if o.Packages == nil && packages != nil {
		if o.Packages, err = packages(ctx, o.Progress); err != nil {
			return nil, err
		}
	}
	endpoint, err := loadEndpoint(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	return &Setup{Options: o, Name: name, Endpoint: endpoint, Report: NewReport(name, o.Progress)}, nil
}

// Run starts the engine as a child process on a free port, and reports the progress. It sets the
// spec's name, folder, log and port.
func (s *Setup) Run(ctx context.Context, spec supervisor.Spec) (*supervisor.Process, error) {
	spec.Name, spec.Dir, spec.LogPath = s.Name, s.Dir, filepath.Join(s.LogDir, s.Name+".log")
	spec.Port = func() int { return s.Endpoint.Port }
	p := supervisor.New(spec, s.Logger)
	if err := s.StartOnFreePort(ctx, p.Start); err != nil {
		return nil, err
	}
	return p, nil
}

// PythonCommand returns a command that runs a server in Python, in the engine's folder and on the port
// of the endpoint, with args besides --port and the environment of [supervisor.PythonEnv].
func (s *Setup) PythonCommand(program string, args ...string) *exec.Cmd {
	args = append([]string{program, "--port", strconv.Itoa(s.Endpoint.Port)}, args...)
	cmd := exec.Command(s.Packages.Python(), args...)
	cmd.Dir, cmd.Env = s.Dir, supervisor.PythonEnv()
	return cmd
}

// StartOnFreePort calls start, which starts the engine on the port of the endpoint, and reports the
// progress. If start returns [supervisor.ErrPortTaken], StartOnFreePort assigns another port
// permanently and tries again.
func (s *Setup) StartOnFreePort(ctx context.Context, start func(context.Context) error) error {
	s.Report("starting", -1, "")
	for attempt := 1; ; attempt++ {
		err := start(ctx)
		if err == nil {
			s.Report("ready", 100, "")
			return nil
		}
		if errors.Is(err, supervisor.ErrPortTaken) && attempt < supervisor.MaxPortAttempts && ctx.Err() == nil {
			if err = s.changePort(); err == nil {
				continue
			}
		}
		s.Report("failed", -1, err.Error())
		return err
	}
}

func (s *Setup) changePort() (err error) {
	if s.Endpoint.Port, err = supervisor.RandomPort(); err != nil {
		return err
	}
	return s.Endpoint.Save(s.Dir)
}
