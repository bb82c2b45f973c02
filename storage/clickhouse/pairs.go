package clickhouse

import (
	"maps"
	"slices"

	"github.com/ClickHouse/ch-go/proto"
	drivercolumn "github.com/ClickHouse/clickhouse-go/v2/lib/column"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// pairs is a Map(String, String) with its order, which ClickHouse keeps and Go's maps do
// not: rows that say the same are to be the same. It is an IterableOrderedMap of the driver.
type pairs []proto.KV[string, string]

// sorted returns the pairs of a map in the order of keys.
func sorted(m map[string]string) *pairs {
	p := make(pairs, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		p = append(p, proto.KV[string, string]{Key: k, Value: m[k]})
	}
	return &p
}

// Put appends a pair of texts.
func (p *pairs) Put(key, value any) {
	k, _ := key.(string)
	v, _ := value.(string)
	*p = append(*p, proto.KV[string, string]{Key: k, Value: v})
}

// Iterator goes through the pairs.
func (p *pairs) Iterator() drivercolumn.MapIterator { return &pairsIterator{pairs: *p, at: -1} }

type pairsIterator struct {
	pairs pairs
	at    int
}

func (i *pairsIterator) Next() bool {
	i.at++
	return i.at < len(i.pairs)
}
func (i *pairsIterator) Key() any   { return i.pairs[i.at].Key }
func (i *pairsIterator) Value() any { return i.pairs[i.at].Value }

// mapColumn is a column of maps of texts.
type mapColumn struct {
	scanned pairs
	values  *proto.ColMap[string, string]
}

func (c *mapColumn) target() any { return &c.scanned }

func (c *mapColumn) keep() {
	c.values.AppendKV(c.scanned)
	c.scanned = c.scanned[:0] // scanning appends
}

func (c *mapColumn) last() any          { return c.values.RowKV(c.values.Rows() - 1) }
func (c *mapColumn) data() proto.Column { return c.values }

func (c *mapColumn) fill(to driver.BatchColumn) error {
	values := make([]*pairs, c.values.Rows())
	for i := range values {
		p := pairs(c.values.RowKV(i))
		values[i] = &p
	}
	return to.Append(values)
}
