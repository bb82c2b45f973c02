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

// EngineOptions are the options of one engine. Only Dir is required.
type EngineOptions struct {
	Dir      string       // folder of its data, port and password; created if missing
	LogDir   string       // folder of its log; default: Dir
	Packages *Packages    // default: Install, InstallEmbedder
	Logger   *slog.Logger // default: slog.Default
	Progress func(Event)  // default: none
	Memory   int64        // bytes that ClickHouse may use; default: two fifths of the machine's
}

// startTimeout is the timeout of an engine's start. It is long because of crash recovery.
const startTimeout = 2 * time.Minute

// engineSetup has the options of an engine with defaults applied, and its endpoint.
type engineSetup struct {
	EngineOptions
	endpoint endpoint
	report   func(phase string, percent int, detail string)
}

// newEngineSetup applies the defaults, creates the folders and loads the endpoint.
func newEngineSetup(ctx context.Context, engine string, o EngineOptions) (*engineSetup, error) {
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
	return &engineSetup{EngineOptions: o, endpoint: ep, report: reporter(engine, o.Progress)}, nil
}

// run starts the process of the engine and reports the progress.
func (s *engineSetup) run(ctx context.Context, sp spec) (*Process, error) {
	sp.dir, sp.logPath = s.Dir, filepath.Join(s.LogDir, sp.name+".log")
	if sp.startTimeout == 0 {
		sp.startTimeout = startTimeout
	}
	sp.port = func() int { return s.endpoint.Port }
	p := &Process{spec: sp, logger: s.Logger}
	if err := s.startOnFreePort(ctx, p.Start); err != nil {
		return nil, err
	}
	return p, nil
}

// startOnFreePort starts an engine on its port. If the port is in use, it assigns another one
// permanently and tries again.
func (s *engineSetup) startOnFreePort(ctx context.Context, start func(context.Context) error) error {
	s.report("starting", -1, "")
	for attempt := 1; ; attempt++ {
		err := start(ctx)
		if err == nil {
			s.report("ready", 100, "")
			return nil
		}
		if errors.Is(err, errPortTaken) && attempt < maxPortAttempts && ctx.Err() == nil {
			if err = s.changePort(); err == nil {
				continue
			}
		}
		s.report("failed", -1, err.Error())
		return err
	}
}

func (s *engineSetup) changePort() (err error) {
	if s.endpoint.Port, err = randomPort(); err != nil {
		return err
	}
	return s.endpoint.save(s.Dir)
}
