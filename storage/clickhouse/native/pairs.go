package native

import (
	"maps"
	"slices"

	"github.com/ClickHouse/ch-go/proto"
	drivercolumn "github.com/ClickHouse/clickhouse-go/v2/lib/column"
)

// Pairs is a Map(String, String) with an order. ClickHouse preserves the order, which Go's maps
// do not have, and rows with equal content must be identical. Pairs implements the driver's
// IterableOrderedMap.
type Pairs []proto.KV[string, string]

// Sorted returns the pairs of a map in the order of keys.
func Sorted(m map[string]string) *Pairs {
	p := make(Pairs, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		p = append(p, proto.KV[string, string]{Key: k, Value: m[k]})
	}
	return &p
}

// Put appends a pair of strings.
func (p *Pairs) Put(key, value any) {
	k, _ := key.(string)
	v, _ := value.(string)
	*p = append(*p, proto.KV[string, string]{Key: k, Value: v})
}

// Iterator returns an iterator over the pairs.
func (p *Pairs) Iterator() drivercolumn.MapIterator { return &pairsIterator{pairs: *p, index: -1} }

type pairsIterator struct {
	pairs Pairs
	index int
}

func (i *pairsIterator) Next() bool {
	i.index++
	return i.index < len(i.pairs)
}
func (i *pairsIterator) Key() any   { return i.pairs[i.index].Key }
func (i *pairsIterator) Value() any { return i.pairs[i.index].Value }

// mapColumn is a column of maps of strings.
type mapColumn struct {
	scanned Pairs
	values  *proto.ColMap[string, string]
}

func (c *mapColumn) scanTarget() any { return &c.scanned }

func (c *mapColumn) appendScanned() {
	c.values.AppendKV(c.scanned)
	c.scanned = c.scanned[:0] // scanning appends
}

func (c *mapColumn) lastScanned() any   { return c.values.RowKV(c.values.Rows() - 1) }
func (c *mapColumn) data() proto.Column { return c.values }

func (c *mapColumn) encoded() Column {
	values := make(Maps, c.values.Rows())
	for i := range values {
		p := Pairs(c.values.RowKV(i))
		values[i] = &p
	}
	return values
}
