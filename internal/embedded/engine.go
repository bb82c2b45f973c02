package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"
)

// EngineOptions says where one engine lives. Only Dir is required.
type EngineOptions struct {
	Dir      string       // its data, port and password; made if missing
	LogDir   string       // its log; default Dir
	Packages *Packages    // default: Install, InstallEmbedder
	Logger   *slog.Logger // default: slog.Default
	Progress func(Event)  // default: none
	Memory   int64        // bytes that ClickHouse may use; default: two fifths of the machine's
}

// startLimit bounds an engine's start: recovery after a crash may take long.
const startLimit = 2 * time.Minute

// site is an engine's folder, made ready.
type site struct {
	EngineOptions
	endpoint endpoint
	report   func(phase string, percent int, detail string)
}

// newSite fills in the defaults, makes the folders and loads the endpoint.
func newSite(ctx context.Context, engine string, o EngineOptions) (*site, error) {
	if o.LogDir == "" {
		o.LogDir = o.Dir
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", engine, err)
	}
	o.Dir = dir
	if o.LogDir, err = filepath.Abs(o.LogDir); err != nil {
		return nil, fmt.Errorf("starting %s: %w", engine, err)
	}
	for _, dir := range []string{o.Dir, o.LogDir} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("starting %s: %w", engine, err)
		}
	}
	if o.Packages == nil && engine != kafkaName && engine != apacheName {
		install := Install
		if engine == embedderName {
			install = InstallEmbedder
		}
		if o.Packages, err = install(ctx, o.Progress); err != nil {
			return nil, err
		}
	}
	ep, err := loadEndpoint(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", engine, err)
	}
	return &site{EngineOptions: o, endpoint: ep, report: reporter(engine, o.Progress)}, nil
}

// run starts a process of the engine and reports how it went.
func (s *site) run(ctx context.Context, sp spec) (*Process, error) {
	sp.dir, sp.logPath = s.Dir, filepath.Join(s.LogDir, sp.name+".log")
	if sp.startLimit == 0 {
		sp.startLimit = startLimit
	}
	sp.port = func() int { return s.endpoint.Port }
	p := &Process{spec: sp, logger: s.Logger}
	if err := s.onSomePort(ctx, p.Start); err != nil {
		return nil, err
	}
	return p, nil
}

// onSomePort starts an engine at its port or, when somebody else has taken that,
// at another, which is then its own.
func (s *site) onSomePort(ctx context.Context, start func(context.Context) error) error {
	s.report("starting", -1, "")
	for choice := 1; ; choice++ {
		err := start(ctx)
		if err == nil {
			s.report("ready", 100, "")
			return nil
		}
		if errors.Is(err, errPortTaken) && choice < portChoices && ctx.Err() == nil {
			if err = s.moveToAnotherPort(); err == nil {
				continue
			}
		}
		s.report("failed", -1, err.Error())
		return err
	}
}

func (s *site) moveToAnotherPort() (err error) {
	if s.endpoint.Port, err = somePort(); err != nil {
		return err
	}
	return s.endpoint.save(s.Dir)
}
