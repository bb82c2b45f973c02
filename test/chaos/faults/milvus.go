package faults

import (
	"context"
	"errors"
	"math/rand/v2"

	"github.com/milvus-io/milvus-sdk-go/v2/client"

	"github.com/livegraph/livegraph/test/chaos/environment"
)

// milvusFaults returns the faults that are specific to Milvus.
func milvusFaults(s *environment.Stores) []Fault {
	return []Fault{{Kind: "dropped/milvus", Seldom: true, Lasts: instant,
		Inject: func(ctx context.Context, dice *rand.Rand) (func(context.Context) error, error) {
			c, err := client.NewClient(ctx, client.Config{Address: s.Milvus})
			if err != nil {
				return nil, err
			}
			defer func() { _ = c.Close() }()
			collections, err := c.ListCollections(ctx)
			if err != nil {
				return nil, err
			}
			if len(collections) == 0 {
				return nil, errors.New("there is no collection")
			}
			return noHeal, c.DropCollection(ctx, collections[dice.IntN(len(collections))].Name)
		}}}
}
