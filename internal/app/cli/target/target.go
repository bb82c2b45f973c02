// Package target finds the engines and the server that a command works on: those of the
// settings, or those of the server that runs on the data directory.
package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/app/cli/trail"
	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/internal/platform/runfile"
	"github.com/livegraph/livegraph/internal/services/firstrun"
	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/storage/postgres/stores"
)

// Settings are the settings of a command. They are flags of the whole command line, because kong
// would otherwise create each of them for each command, which takes longer than most commands run.
type Settings struct {
	*config.Config `kong:"-"`
}

// BeforeApply sets the configuration, which kong fills afterwards and then validates.
func (s *Settings) BeforeApply(c *config.Config) error {
	s.Config = c
	return nil
}

// Target is the installation that a command works on: the engines named by the same
// settings as the server's, or those of the server that runs on the data directory.
type Target struct {
	Settings `embed:""`
}

// errNoServer returns the error for a command that finds neither a server nor engines.
func errNoServer(dataDir string) error {
	return fmt.Errorf("no server runs on %s: start one with `livegraph serve --data-dir %s`, "+
		"or name the engines, such as LIVEGRAPH_POSTGRES_URL", dataDir, dataDir)
}

// Resolve sets the addresses that are not configured to those of the running server. It
// returns an error if an address is missing and no server runs.
func (t *Target) Resolve() error {
	missing := t.Postgres.URL == "" || t.ClickHouse.URL == "" || len(t.Kafka.Brokers) == 0 || t.Redis.URL == ""
	if !missing {
		return nil
	}
	err := t.FillFromServer()
	if errors.Is(err, runfile.ErrNotRunning) {
		return errNoServer(t.DataDir)
	}
	return err
}

// FillFromServer sets the addresses that are not configured to those of the server that
// runs on the data directory. It returns runfile.ErrNotRunning if none does.
func (t *Target) FillFromServer() error {
	server, err := runfile.Read(t.DataDir)
	if err != nil {
		return err
	}
	fill := func(setting *config.Secret, address string) (filled bool) {
		filled = *setting == ""
		if filled {
			*setting = config.Secret(address)
		}
		return filled
	}
	if fill(&t.Postgres.URL, server.PostgresURL) {
		t.Postgres.DirectURL = config.Secret(server.PostgresDirectURL)
		t.Postgres.Replica.URL = config.Secret(server.PostgresReplicaURL)
	}
	if fill(&t.ClickHouse.URL, server.ClickHouseURL) {
		t.ClickHouse.TLS, t.ClickHouse.Cluster = server.ClickHouseTLS, server.ClickHouseCluster
	}
	if fill(&t.Redis.URL, server.RedisURL) {
		t.Redis.TLS, t.Redis.Sentinel = server.RedisTLS, server.RedisSentinel()
	}
	if len(t.Kafka.Brokers) == 0 {
		t.Kafka.Brokers, t.Kafka.KafkaSecurity = server.KafkaBrokers, server.KafkaLogin()
		t.Capabilities.Kafka = server.Capabilities.Kafka
	}
	if t.Milvus.Address == "" {
		t.Capabilities.Milvus = server.Capabilities.Milvus
		t.Milvus = config.Milvus{
			Address: server.MilvusAddress, Token: config.Secret(server.MilvusToken), TLS: server.MilvusTLS,
		}
	}
	if _, embedded := t.Embedder.Embedded(); embedded {
		e := server.Embedder
		t.Embedder.Address, t.Embedder.Key, t.Embedder.Model = e.Address, config.Secret(e.Key), e.Model
		t.Embedder.Dimensions, t.Embedder.AllowPrivateAddresses, t.Embedder.TLS = e.Dimensions, e.AllowPrivateAddresses, e.TLS
		t.Embedder.QueryPrefix, t.Embedder.PassagePrefix = e.QueryPrefix, e.PassagePrefix
	}
	if m := server.Chat; t.Chat.URL == "" {
		t.Chat.URL, t.Chat.Key, t.Chat.Model = m.URL, config.Secret(m.Key), m.Model
		t.Chat.AllowPrivateAddresses, t.Chat.TLS = m.AllowPrivateAddresses, m.TLS
	}
	if m := server.Rerank; t.Rerank.URL == "" {
		t.Rerank.URL, t.Rerank.Key, t.Rerank.Model = m.URL, config.Secret(m.Key), m.Model
		t.Rerank.AllowPrivateAddresses, t.Rerank.TLS = m.AllowPrivateAddresses, m.TLS
	}
	return nil
}

// FindServer returns the server to send requests to: the one at url, else the one at the
// configured public address, else the one that runs on the data directory.
func (t *Target) FindServer(url string) (runfile.Server, error) {
	running, err := runfile.Read(t.DataDir)
	if url = cmp.Or(url, t.API.PublicURL); url != "" && (err != nil || running.URL != url) {
		return runfile.Server{URL: url}, nil
	}
	if errors.Is(err, runfile.ErrNotRunning) {
		return runfile.Server{}, errNoServer(t.DataDir)
	}
	return running, err
}

// WorkspaceOrFirst returns the named workspace, or that of the first run if named is nil.
func (t *Target) WorkspaceOrFirst(named *uuid.UUID) (uuid.UUID, error) {
	if named != nil {
		return *named, nil
	}
	record, err := firstrun.Read(t.DataDir)
	if err != nil {
		return uuid.Nil, fmt.Errorf("name the workspace with --workspace: %s is gone", firstrun.Path(t.DataDir))
	}
	return record.WorkspaceID, nil
}

// WithPostgres runs work on the target's Postgres. It requires no other store.
func (t *Target) WithPostgres(ctx context.Context, work func(*stores.DB) error) error {
	if t.Postgres.URL == "" {
		if err := t.Resolve(); err != nil {
			return err
		}
	}
	db, err := stores.Open(ctx, t.Postgres.URL.Reveal(), 2, postgres.WithDirectURL(t.Postgres.DirectURL.Reveal()))
	if err != nil {
		return err
	}
	defer db.Close()
	return trail.Record(ctx, db.Access, func() error { return work(db) })
}
