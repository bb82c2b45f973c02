package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/embedded/engine"
	"github.com/livegraph/livegraph/internal/embedded/install"
	"github.com/livegraph/livegraph/internal/embedded/supervisor"
)

// newSetup returns a setup of an engine without packages.
func newSetup(t *testing.T, dir string, progress func(engine.Event)) *engine.Setup {
	t.Helper()
	s, err := engine.NewSetup(t.Context(), "example", nil, engine.Options{Dir: dir, Progress: progress})
	require.NoError(t, err)
	return s
}

func TestAnEndpointStaysTheSame(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "example")
	_, err := engine.ReadEndpoint(dir)
	require.ErrorIs(t, err, fs.ErrNotExist)
	first := newSetup(t, dir, nil).Endpoint
	require.NotZero(t, first.Port)
	require.Len(t, first.Password, 32)
	require.Equal(t, fmt.Sprintf("127.0.0.1:%d", first.Port), first.Address())
	require.Equal(t, first, newSetup(t, dir, nil).Endpoint)
	stored, err := engine.ReadEndpoint(dir)
	require.NoError(t, err)
	require.Equal(t, first, stored)
	info, err := os.Stat(filepath.Join(dir, "endpoint.json"))
	require.NoError(t, err)
	require.Zero(t, info.Mode().Perm()&0o077)
}

func TestAnotherPortIsAssignedPermanentlyWhenOneIsTaken(t *testing.T) {
	dir := t.TempDir()
	var phases []string
	s := newSetup(t, dir, func(e engine.Event) {
		require.Equal(t, "example", e.Engine)
		phases = append(phases, e.Phase)
	})
	first := s.Endpoint
	starts := 0
	require.NoError(t, s.StartOnFreePort(t.Context(), func(context.Context) error {
		if starts++; starts == 1 {
			return fmt.Errorf("starting example: %w", supervisor.ErrPortTaken)
		}
		return nil
	}))
	require.Equal(t, 2, starts)
	require.NotEqual(t, first.Port, s.Endpoint.Port)
	require.Equal(t, first.Password, s.Endpoint.Password)
	require.Equal(t, s.Endpoint, newSetup(t, dir, nil).Endpoint)
	require.Equal(t, []string{"starting", "ready"}, phases)
}

func TestAFailedStartIsReportedAndNotTriedAgain(t *testing.T) {
	var last engine.Event
	s := newSetup(t, t.TempDir(), func(e engine.Event) { last = e })
	first, failure, starts := s.Endpoint, errors.New("no memory"), 0
	require.ErrorIs(t, s.StartOnFreePort(t.Context(), func(context.Context) error { starts++; return failure }), failure)
	require.Equal(t, 1, starts)
	require.Equal(t, first, s.Endpoint)
	require.Equal(t, "failed", last.Phase)
	require.Equal(t, "no memory", last.Detail)
}

func TestPackagesAreInstalledUnlessTheOptionsHaveThem(t *testing.T) {
	installed, calls := &install.Packages{}, 0
	installer := func(context.Context, func(engine.Event)) (*install.Packages, error) {
		calls++
		return installed, nil
	}
	s, err := engine.NewSetup(t.Context(), "example", installer, engine.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	require.Same(t, installed, s.Packages)
	_, err = engine.NewSetup(t.Context(), "example", installer, engine.Options{Dir: t.TempDir(), Packages: installed})
	require.NoError(t, err)
	require.Equal(t, 1, calls)
}
