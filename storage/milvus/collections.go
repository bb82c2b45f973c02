package milvus

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/milvus-io/milvus-proto/go-api/v2/milvuspb"
	"github.com/milvus-io/milvus-sdk-go/v2/client"
	"github.com/milvus-io/milvus-sdk-go/v2/entity"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// namePattern matches names of collections and aliases.
var namePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,254}$`)

// collection describes a collection.
type collection struct {
	name       string // the collection's name, not an alias
	dimensions int
}

// CreateCollection creates a collection for vectors with the given number of dimensions, creates its
// index and loads it. It keeps what exists and completes an earlier call that failed. It returns
// fault.Conflict if the existing collection has another schema.
func (db *DB) CreateCollection(ctx context.Context, name string, dimensions int) error {
	if err := checkName(name); err != nil {
		return err
	}
	if dimensions < 1 || dimensions > maxDimensions {
		return fault.Newf(fault.Invalid, "a collection of vectors must have 1 to %d dimensions", maxDimensions)
	}
	err := db.do(ctx, opCreate, createLimit, func(ctx context.Context) error {
		release, err := db.lock(ctx, name)
		if err != nil {
			return err
		}
		defer release()
		if err := db.createCollection(ctx, name, dimensions); err != nil {
			return err
		}
		return db.createIndex(ctx, name)
	})
	if err != nil {
		return err
	}
	return db.LoadCollection(ctx, name)
}

// createCollection creates the collection unless it exists. Another process may create it at the same
// time, and milvus-lite then returns an error, so the collection is read again.
func (db *DB) createCollection(ctx context.Context, name string, dimensions int) error {
	found, err := db.describe(ctx, name)
	if isServerError(err, (*serverError).noCollection) {
		failed := db.client.CreateCollection(ctx, newSchema(name, dimensions), shards,
			client.WithPartitionNum(partitions), client.WithConsistencyLevel(entity.ClBounded))
		if found, err = db.describe(ctx, name); err != nil && failed != nil {
			err = failed
		}
	}
	switch {
	case err != nil:
		return err
	case found.name != name:
		return fault.Newf(fault.Conflict, "%s is an alias in Milvus", name)
	case found.dimensions != dimensions:
		return fault.Newf(
			fault.Conflict, "the collection %s in Milvus has %d dimensions, not %d", name, found.dimensions, dimensions,
		)
	}
	return nil
}

// createIndex creates the index of the vectors unless it exists.
func (db *DB) createIndex(ctx context.Context, name string) error {
	if db.hasIndex(ctx, name) {
		return nil
	}
	index, err := newIndex()
	if err != nil {
		return err
	}
	const async = true // the collection is empty, so there is nothing to wait for
	err = db.client.CreateIndex(ctx, name, fieldVector, index, async)
	if err != nil && db.hasIndex(ctx, name) {
		return nil
	}
	return err
}

// hasIndex reports whether the vectors have an index. Milvus editions return different errors if
// there is none, so every error counts as no index.
func (db *DB) hasIndex(ctx context.Context, name string) bool {
	found, err := db.client.DescribeIndex(ctx, name, fieldVector)
	return err == nil && len(found) > 0
}

// HasCollection reports whether there is a collection or an alias with the given name.
func (db *DB) HasCollection(ctx context.Context, name string) (bool, error) {
	if err := checkName(name); err != nil {
		return false, err
	}
	exists := true
	err := db.do(ctx, opDescribe, readLimit, func(ctx context.Context) error {
		_, err := db.describe(ctx, name)
		if isServerError(err, (*serverError).noCollection) {
			exists, err = false, nil
		}
		return err
	})
	return exists && err == nil, err
}

// describe reads the description of a collection and returns a serverError if there is none. It also
// updates the schema that the SDK caches to validate writes.
func (db *DB) describe(ctx context.Context, name string) (collection, error) {
	found, err := db.client.DescribeCollection(ctx, name)
	if err != nil {
		if isServerError(err, (*serverError).noCollection) {
			db.invalidate(name)
		}
		return collection{}, err
	}
	// Not found.Name: Milvus 2.3 returns an alias there.
	c := collection{name: found.Schema.CollectionName, dimensions: dimensionsOf(found.Schema)}
	if c.dimensions == 0 {
		return c, fault.Newf(fault.Conflict, "the collection %s in Milvus was not created by Livegraph", c.name)
	}
	if c.name == name { // not for an alias, which may change
		db.mu.Lock()
		defer db.mu.Unlock()
		db.cached[name] = c
	}
	return c, nil
}

// collection returns the cached description of a collection, or reads it if there is none.
func (db *DB) collection(ctx context.Context, name string) (c collection, err error) {
	if err := checkName(name); err != nil {
		return c, err
	}
	db.mu.Lock()
	c, ok := db.cached[name]
	db.mu.Unlock()
	if ok {
		return c, nil
	}
	err = db.do(ctx, opDescribe, readLimit, func(ctx context.Context) (err error) {
		c, err = db.describe(ctx, name)
		return err
	})
	return c, err
}

// invalidate removes the cached description of a collection.
func (db *DB) invalidate(name string) {
	db.mu.Lock()
	defer db.mu.Unlock()
	delete(db.cached, name)
}

// LoadCollection loads a collection, so that it can be searched, and waits until it is loaded. This is
// necessary after a restart of Milvus.
func (db *DB) LoadCollection(ctx context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	return db.do(ctx, opLoad, loadLimit, func(ctx context.Context) error { return db.load(ctx, name) })
}

// load loads a collection. Calls run one after the other: after a restart every search calls load.
func (db *DB) load(ctx context.Context, name string) error {
	release, err := db.lock(ctx, "load "+name)
	if err != nil {
		return err
	}
	defer release()
	const async = true // the SDK would poll less often
	if err := db.client.LoadCollection(ctx, name, async); err != nil {
		return err
	}
	return pollUntil(ctx, func() (bool, error) {
		percent, err := db.client.GetLoadingProgress(ctx, name, nil)
		return percent >= 100, err
	})
}

// pollUntil calls check until it returns true or an error, or ctx is done.
func pollUntil(ctx context.Context, check func() (bool, error)) error {
	tick := time.NewTicker(statePoll)
	defer tick.Stop()
	for {
		if done, err := check(); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// DropCollection deletes a collection with its entries and aliases. It does nothing if there is no
// such collection, and returns fault.Conflict if name is an alias.
func (db *DB) DropCollection(ctx context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	return db.do(ctx, opDrop, createLimit, func(ctx context.Context) error {
		release, err := db.lock(ctx, name)
		if err != nil {
			return err
		}
		defer release()
		// The SDK's DescribeCollection does not return the aliases.
		found, err := db.client.Service.DescribeCollection(ctx, &milvuspb.DescribeCollectionRequest{CollectionName: name})
		if err == nil {
			if found.GetSchema().GetName() != name {
				return fault.Newf(fault.Conflict, "%s is an alias in Milvus", name)
			}
			err = db.dropWithAliases(ctx, name, found.GetAliases())
		}
		db.invalidate(name)
		if isServerError(err, (*serverError).noCollection) {
			return nil
		}
		return err
	})
}

// dropWithAliases deletes a collection after its aliases, without which Milvus refuses the deletion.
func (db *DB) dropWithAliases(ctx context.Context, name string, aliases []string) error {
	for _, alias := range aliases {
		if err := db.client.DropAlias(ctx, alias); err != nil {
			return err
		}
	}
	return db.client.DropCollection(ctx, name)
}

// SetAlias creates or changes an alias, so that it refers to a collection.
func (db *DB) SetAlias(ctx context.Context, alias, name string) error {
	if err := checkName(alias); err != nil {
		return err
	}
	if err := checkName(name); err != nil {
		return err
	}
	return db.do(ctx, opAlias, createLimit, func(ctx context.Context) error {
		if _, err := db.describe(ctx, name); err != nil {
			return err // the editions confuse a missing collection with a missing alias
		}
		if db.client.CreateAlias(ctx, name, alias) == nil {
			return nil
		}
		return db.client.AlterAlias(ctx, name, alias)
	})
}

// DropAlias deletes an alias. It does nothing if there is none.
func (db *DB) DropAlias(ctx context.Context, alias string) error {
	if err := checkName(alias); err != nil {
		return err
	}
	return db.do(ctx, opAlias, createLimit, func(ctx context.Context) error {
		err := db.client.DropAlias(ctx, alias)
		if isServerError(err, (*serverError).noAlias) {
			return nil
		}
		return err
	})
}

// withLoaded runs a call. If the collection is not loaded, because Milvus was restarted, it loads the
// collection and runs the call again.
func (db *DB) withLoaded(ctx context.Context, name string, call func() error) error {
	err := call()
	if !isServerError(err, (*serverError).notLoaded) {
		return err
	}
	if err := db.load(ctx, name); err != nil {
		return err
	}
	return call()
}

// Flush flushes a collection's latest entries to indexed segments and waits until it is done. Callers
// should call it after many writes and from time to time: milvus-lite compares a query with every
// unflushed entry. If the server's rate limit is exceeded (newer ones allow one flush in ten
// seconds), Flush returns nil, because the server flushes automatically.
func (db *DB) Flush(ctx context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	return db.do(ctx, opFlush, flushLimit, func(ctx context.Context) error {
		// milvus-lite returns no error if the collection does not exist.
		c, err := db.describe(ctx, name)
		if err != nil {
			return err
		}
		name := c.name // the response uses this name, not the alias
		started, err := db.startFlush(ctx, name)
		if isServerError(err, (*serverError).rateLimited) {
			return nil
		}
		segments := started.GetCollSegIDs()[name].GetData()
		if err != nil || len(segments) == 0 {
			return err
		}
		return pollUntil(ctx, func() (bool, error) {
			state, err := db.client.Service.GetFlushState(ctx, &milvuspb.GetFlushStateRequest{
				SegmentIDs: segments, FlushTs: started.GetCollFlushTs()[name], CollectionName: name,
			})
			return state.GetFlushed(), err
		})
	})
}

// startFlush starts a flush without waiting for it. The SDK's Flush would keep waiting after errors.
func (db *DB) startFlush(ctx context.Context, name string) (*milvuspb.FlushResponse, error) {
	release, err := db.lock(ctx, name)
	if err != nil {
		return nil, err
	}
	defer release()
	return db.client.Service.Flush(ctx, &milvuspb.FlushRequest{CollectionNames: []string{name}})
}

func checkName(name string) error {
	if !namePattern.MatchString(name) {
		return fmt.Errorf("%q is not a valid name of a collection in Milvus", name)
	}
	return nil
}
