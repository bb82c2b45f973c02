package columns

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Types of columns.
var (
	TimestampType  = &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	DictionaryType = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}
)

// Dictionary has the texts of items, each different text once: pandas accepts no categories that occur twice.
type Dictionary struct {
	texts   arrow.Array // the different texts
	entries []int32     // index in texts by item, -1: the item has none
}

// NewDictionary returns the texts of as many items as count. All record batches of an answer share them.
func NewDictionary(count int, text func(item int) (string, bool)) *Dictionary {
	d := &Dictionary{entries: make([]int32, count)}
	texts := array.NewStringBuilder(memory.DefaultAllocator)
	index := map[string]int32{}
	for i := range count {
		d.entries[i] = -1
		name, has := text(i)
		if !has {
			continue
		}
		entry, known := index[name]
		if !known {
			entry = int32(len(index)) // an answer has at most MaxItems items
			index[name] = entry
			texts.Append(name)
		}
		d.entries[i] = entry
	}
	d.texts = texts.NewArray()
	return d
}

// Rows returns the column of the texts of these items.
func (d *Dictionary) Rows(items []int32) arrow.Array {
	indexes := array.NewInt32Builder(memory.DefaultAllocator)
	indexes.Reserve(len(items))
	for _, item := range items {
		if entry := d.entries[item]; entry >= 0 {
			indexes.UnsafeAppend(entry)
		} else {
			indexes.UnsafeAppendBoolToBitmap(false)
		}
	}
	values := indexes.NewArray()
	defer values.Release()
	return array.NewDictionaryArray(DictionaryType, values, d.texts)
}
