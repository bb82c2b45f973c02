package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/app/demo"
	"github.com/livegraph/livegraph/internal/platform/apikey"
	"github.com/livegraph/livegraph/internal/platform/runfile"
	"github.com/livegraph/livegraph/internal/services/firstrun"
	"github.com/livegraph/livegraph/storage/postgres"
)

// demoKeyLife is how long a key of the demo lives; the demo makes itself another.
const demoKeyLife = 24 * time.Hour

// DemoCmd streams this machine's own metrics into a running server.
type DemoCmd struct {
	target
	DemoFlags `embed:""`
	Workspace uuid.UUID `help:"Workspace to fill; default: that of first-run.json." placeholder:"ID"`
}

// DemoFlags are a person's wishes for the demo.
type DemoFlags struct {
	Interval   time.Duration `help:"Time between two measurements, 100ms to 1h." default:"1s"`
	Duration   time.Duration `help:"End after this time; 0: at Ctrl-C." default:"0s"`
	NoBackfill bool          `help:"Leave out the four years of weather."`
	Plain      bool          `help:"Print lines instead of a view that is redrawn in place."`
}

const (
	shortestDemoInterval = 100 * time.Millisecond
	longestDemoInterval  = time.Hour
)

// Validate checks what tags cannot say.
func (c *DemoCmd) Validate() error {
	if c.Interval < shortestDemoInterval || c.Interval > longestDemoInterval {
		return fmt.Errorf("--interval: must be from %s to %s", shortestDemoInterval, longestDemoInterval)
	}
	if c.Duration < 0 {
		return errors.New("--duration: must not be negative")
	}
	return nil
}

// Run fills the workspace until it is over or ctx ends.
func (c *DemoCmd) Run(ctx context.Context, out *output) error {
	server, err := c.server("")
	if err != nil {
		return err
	}
	return c.withPostgres(ctx, func(db *postgres.DB) error {
		deps, err := demoDeps(db, c.DataDir, c.Workspace, server, out)
		if err != nil {
			return err
		}
		return demo.Run(ctx, demo.Options{
			Interval: c.Interval, Duration: c.Duration, Backfill: !c.NoBackfill, Plain: c.Plain,
		}, deps)
	})
}

// demoDeps returns the dependencies of the demo. The zero workspace stands for that of
// the first run.
func demoDeps(
	db *postgres.DB, dataDir string, workspace uuid.UUID, server runfile.Server, out *output,
) (demo.Deps, error) {
	record, err := firstrun.Read(dataDir)
	if workspace == uuid.Nil {
		if err != nil {
			return demo.Deps{}, fmt.Errorf("name the workspace with --workspace: %s is gone", firstrun.Path(dataDir))
		}
		workspace = record.WorkspaceID
	}
	client, httpErr := localClient(server)
	if httpErr != nil {
		return demo.Deps{}, httpErr
	}
	deps := demo.Deps{
		BaseURL: server.URL, HTTP: client, CACert: server.CACert, Workspace: workspace, Out: out.Writer,
		NewKey: func(ctx context.Context) (string, time.Time, error) { return newDemoKey(ctx, db, workspace) },
	}
	if err == nil && record.WorkspaceID == workspace {
		path, err := filepath.Abs(firstrun.Path(dataDir))
		if err != nil {
			return demo.Deps{}, err
		}
		deps.KeyCommand = firstRunKeyCommand(path)
	}
	return deps, nil
}

// newDemoKey makes the demo a key of its own, which reads and writes live data and
// the graph, and expires.
func newDemoKey(ctx context.Context, db *postgres.DB, workspace uuid.UUID) (string, time.Time, error) {
	found, err := db.WorkspacesByID(ctx, []uuid.UUID{workspace})
	if err != nil {
		return "", time.Time{}, err
	}
	if len(found) == 0 {
		return "", time.Time{}, fmt.Errorf("there is no workspace %s", workspace)
	}
	key := apikey.Generate(found[0].Mode)
	expires := time.Now().Add(demoKeyLife)
	_, err = db.CreateKey(ctx, postgres.NewKey{
		Hash: key.Hash(), Display: key.Display(), Name: "demo", Mode: found[0].Mode,
		Scopes:     []string{"read:livedata", "write:livedata", "read:nodes", "write:nodes", "read:edges", "write:edges"},
		Workspaces: []uuid.UUID{workspace},
		CreatedBy:  "demo", ExpiresAt: &expires,
	})
	return key.Reveal(), expires, err
}

// firstRunKeyCommand returns the shell command that prints the key in a
// first-run.json, for commands that are to work when pasted without the key
// being written where it may be kept.
func firstRunKeyCommand(path string) string {
	return `sed -n 's/.*"adminKey" *: *"\([^"]*\)".*/\1/p' ` + shellQuote(path)
}

// shellQuote makes a word of a shell command.
func shellQuote(word string) string {
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
