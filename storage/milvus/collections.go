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

// names of collections and aliases are made by us.
var names = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,254}$`)

// collection is what is known of one.
type collection struct {
	name       string // its own, where it was asked for by an alias
	dimensions int
}

// CreateCollection creates a collection for vectors of so many dimensions, with its
// index, and loads it. What is there already is left as it is, however far an earlier
// call came; a collection of another make is a Conflict.
func (db *DB) CreateCollection(ctx context.Context, name string, dimensions int) error {
	if err := checkName(name); err != nil {
		return err
	}
	if dimensions < 1 || dimensions > maxDimensions {
		return fault.Newf(fault.Invalid, "a collection of vectors takes 1 to %d dimensions", maxDimensions)
	}
	err := db.do(ctx, opCreate, makeLimit, func(ctx context.Context) error {
		release, err := db.turn(ctx, name)
		if err != nil {
			return err
		}
		defer release()
		if err := db.makeCollection(ctx, name, dimensions); err != nil {
			return err
		}
		return db.makeIndex(ctx, name)
	})
	if err != nil {
		return err
	}
	return db.LoadCollection(ctx, name)
}

// makeCollection creates the collection unless it is there. Another process may make it
// at the same time, and milvus-lite refuses the second: then it is looked at once more.
func (db *DB) makeCollection(ctx context.Context, name string, dimensions int) error {
	found, err := db.describe(ctx, name)
	if isRefusal(err, (*refusal).noCollection) {
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

func (db *DB) makeIndex(ctx context.Context, name string) error {
	if db.hasIndex(ctx, name) {
		return nil
	}
	index, err := newIndex()
	if err != nil {
		return err
	}
	const async = true // there is nothing to build yet
	err = db.client.CreateIndex(ctx, name, fieldVector, index, async)
	if err != nil && db.hasIndex(ctx, name) {
		return nil
	}
	return err
}

// hasIndex reports whether the vectors have an index. The editions do not agree on how
// they say that there is none, so whatever is not a yes is a no.
func (db *DB) hasIndex(ctx context.Context, name string) bool {
	found, err := db.client.DescribeIndex(ctx, name, fieldVector)
	return err == nil && len(found) > 0
}

// HasCollection reports whether there is a collection, or an alias, of that name.
func (db *DB) HasCollection(ctx context.Context, name string) (bool, error) {
	if err := checkName(name); err != nil {
		return false, err
	}
	has := true
	err := db.do(ctx, opDescribe, readLimit, func(ctx context.Context) error {
		_, err := db.describe(ctx, name)
		if isRefusal(err, (*refusal).noCollection) {
			has, err = false, nil
		}
		return err
	})
	return has && err == nil, err
}

// describe asks for a collection, which is a refusal if there is none. It also renews
// what the SDK keeps of it, by which it checks what is written.
func (db *DB) describe(ctx context.Context, name string) (collection, error) {
	found, err := db.client.DescribeCollection(ctx, name)
	if err != nil {
		if isRefusal(err, (*refusal).noCollection) {
			db.forget(name)
		}
		return collection{}, err
	}
	// Milvus 2.3 repeats an alias in the other field that has the name.
	c := collection{name: found.Schema.CollectionName, dimensions: dimensionsOf(found.Schema)}
	if c.dimensions == 0 {
		return c, fault.Newf(fault.Conflict, "the collection %s in Milvus is none of Livegraph's", c.name)
	}
	if c.name == name { // an alias may lead elsewhere by the next time
		db.mu.Lock()
		defer db.mu.Unlock()
		db.known[name] = c
	}
	return c, nil
}

// collection returns what is known of one, and asks if nothing is.
func (db *DB) collection(ctx context.Context, name string) (c collection, err error) {
	if err := checkName(name); err != nil {
		return c, err
	}
	db.mu.Lock()
	c, ok := db.known[name]
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

func (db *DB) forget(name string) {
	db.mu.Lock()
	defer db.mu.Unlock()
	delete(db.known, name)
}

// LoadCollection makes a collection ready to be searched, which it is no more when
// Milvus was restarted, and waits until it is.
func (db *DB) LoadCollection(ctx context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	return db.do(ctx, opLoad, loadLimit, func(ctx context.Context) error { return db.load(ctx, name) })
}

// load is done by one at a time: after a restart every search finds that it is needed.
func (db *DB) load(ctx context.Context, name string) error {
	release, err := db.turn(ctx, "load "+name)
	if err != nil {
		return err
	}
	defer release()
	const async = true // the SDK would look less often
	if err := db.client.LoadCollection(ctx, name, async); err != nil {
		return err
	}
	return until(ctx, func() (bool, error) {
		percent, err := db.client.GetLoadingProgress(ctx, name, nil)
		return percent >= 100, err
	})
}

// until looks again and again until it is so, an error, or the end of ctx.
func until(ctx context.Context, so func() (bool, error)) error {
	tick := time.NewTicker(statePoll)
	defer tick.Stop()
	for {
		if yes, err := so(); yes || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// DropCollection removes a collection and all that is in it. Nothing happens if there
// is none; an alias is a Conflict.
func (db *DB) DropCollection(ctx context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	return db.do(ctx, opDrop, makeLimit, func(ctx context.Context) error {
		release, err := db.turn(ctx, name)
		if err != nil {
			return err
		}
		defer release()
		// The SDK's own description leaves out the aliases.
		found, err := db.client.Service.DescribeCollection(ctx, &milvuspb.DescribeCollectionRequest{CollectionName: name})
		if err == nil {
			if found.GetSchema().GetName() != name {
				return fault.Newf(fault.Conflict, "%s is an alias in Milvus", name)
			}
			err = db.dropWithAliases(ctx, name, found.GetAliases())
		}
		db.forget(name)
		if isRefusal(err, (*refusal).noCollection) {
			return nil
		}
		return err
	})
}

// dropWithAliases removes what would hold a collection first.
func (db *DB) dropWithAliases(ctx context.Context, name string, aliases []string) error {
	for _, alias := range aliases {
		if err := db.client.DropAlias(ctx, alias); err != nil {
			return err
		}
	}
	return db.client.DropCollection(ctx, name)
}

// SetAlias makes an alias lead to a collection, wherever it led before.
func (db *DB) SetAlias(ctx context.Context, alias, name string) error {
	if err := checkName(alias); err != nil {
		return err
	}
	if err := checkName(name); err != nil {
		return err
	}
	return db.do(ctx, opAlias, makeLimit, func(ctx context.Context) error {
		if _, err := db.describe(ctx, name); err != nil {
			return err // the editions confuse a missing collection with a missing alias
		}
		if db.client.CreateAlias(ctx, name, alias) == nil {
			return nil
		}
		return db.client.AlterAlias(ctx, name, alias)
	})
}

// DropAlias removes an alias. Nothing happens if there is none.
func (db *DB) DropAlias(ctx context.Context, alias string) error {
	if err := checkName(alias); err != nil {
		return err
	}
	return db.do(ctx, opAlias, makeLimit, func(ctx context.Context) error {
		err := db.client.DropAlias(ctx, alias)
		if isRefusal(err, (*refusal).noAlias) {
			return nil
		}
		return err
	})
}

// loaded runs a call, and loads the collection and runs it again if Milvus was
// restarted in the meantime.
func (db *DB) loaded(ctx context.Context, name string, call func() error) error {
	err := call()
	if !isRefusal(err, (*refusal).notLoaded) {
		return err
	}
	if err := db.load(ctx, name); err != nil {
		return err
	}
	return call()
}

// Flush has a collection's latest entries written to where they are indexed, and waits
// for it: after many writes, and now and then. milvus-lite compares a query with every
// entry that is not flushed, one by one. A server that is asked too often (newer ones
// take one flush in ten seconds) is left alone: it flushes by itself.
func (db *DB) Flush(ctx context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	return db.do(ctx, opFlush, flushLimit, func(ctx context.Context) error {
		// milvus-lite says nothing about a collection that is not there.
		c, err := db.describe(ctx, name)
		if err != nil {
			return err
		}
		name := c.name // by which the answer has it
		started, err := db.startFlush(ctx, name)
		if isRefusal(err, (*refusal).tooOften) {
			return nil
		}
		segments := started.GetCollSegIDs()[name].GetData()
		if err != nil || len(segments) == 0 {
			return err
		}
		return until(ctx, func() (bool, error) {
			state, err := db.client.Service.GetFlushState(ctx, &milvuspb.GetFlushStateRequest{
				SegmentIDs: segments, FlushTs: started.GetCollFlushTs()[name], CollectionName: name,
			})
			return state.GetFlushed(), err
		})
	})
}

// startFlush leaves the waiting to who calls it: the SDK's takes no failure for an end.
func (db *DB) startFlush(ctx context.Context, name string) (*milvuspb.FlushResponse, error) {
	release, err := db.turn(ctx, name)
	if err != nil {
		return nil, err
	}
	defer release()
	return db.client.Service.Flush(ctx, &milvuspb.FlushRequest{CollectionNames: []string{name}})
}

func checkName(name string) error {
	if !names.MatchString(name) {
		return fmt.Errorf("%q cannot name a collection in Milvus", name)
	}
	return nil
}
