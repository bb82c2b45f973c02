package native

import (
	"maps"
	"slices"

	"github.com/ClickHouse/ch-go/proto"
	drivercolumn "github.com/ClickHouse/clickhouse-go/v2/lib/column"
)

// Pairs is a Map(String, String) with its order, which ClickHouse keeps and Go's maps do
// not: rows that say the same are to be the same. It is an IterableOrderedMap of the driver.
type Pairs []proto.KV[string, string]

// Sorted returns the pairs of a map in the order of keys.
func Sorted(m map[string]string) *Pairs {
	p := make(Pairs, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		p = append(p, proto.KV[string, string]{Key: k, Value: m[k]})
	}
	return &p
}

// Put appends a pair of texts.
func (p *Pairs) Put(key, value any) {
	k, _ := key.(string)
	v, _ := value.(string)
	*p = append(*p, proto.KV[string, string]{Key: k, Value: v})
}

// Iterator goes through the pairs.
func (p *Pairs) Iterator() drivercolumn.MapIterator { return &pairsIterator{pairs: *p, at: -1} }

type pairsIterator struct {
	pairs Pairs
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
	scanned Pairs
	values  *proto.ColMap[string, string]
}

func (c *mapColumn) target() any { return &c.scanned }

func (c *mapColumn) keep() {
	c.values.AppendKV(c.scanned)
	c.scanned = c.scanned[:0] // scanning appends
}

func (c *mapColumn) last() any          { return c.values.RowKV(c.values.Rows() - 1) }
func (c *mapColumn) data() proto.Column { return c.values }

func (c *mapColumn) encoded() Column {
	values := make(Maps, c.values.Rows())
	for i := range values {
		p := Pairs(c.values.RowKV(i))
		values[i] = &p
	}
	return values
}
