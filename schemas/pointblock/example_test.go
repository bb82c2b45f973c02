package pointblock_test

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/schemas/pointblock"
)

// A producer writes columns. A reader lists the spans and decodes those that it needs.
func Example() {
	id := pointblock.Identity{
		Workspace: uuid.MustParse("0198a1b2-0000-7000-8000-000000000001"),
		Source:    uuid.MustParse("0198a1b2-0000-7000-8000-00000000000a"),
		Metric:    "temperature",
		Tags:      []pointblock.Tag{{Key: "hall", Value: "3"}},
		Kind:      pointblock.KindNumber,
	}
	fingerprint := id.Fingerprint(&[16]byte{ /* the installation's key */ })
	ref := pointblock.SeriesRef{ID: fingerprint.SeriesID(), Fingerprint: fingerprint}

	var encoder pointblock.Encoder
	encoder.Reset(id.Workspace, 1_795_246_808_290_296)
	err := encoder.AppendNumbers(ref, &id, []int64{1_795_246_808_000_000, 1_795_246_807_000_000}, []float64{21.5, 21.4})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, message := range encoder.AppendMessages(nil, pointblock.Partition(id.Source, 8)) {
		var record pointblock.Record
		if err := pointblock.Decode(message.Value, &record); err != nil {
			fmt.Println(err)
			return
		}
		for i := range record.Spans {
			span := &record.Spans[i]
			fmt.Printf("%s %v: %d points\n", span.Metric(), span.Tags(), span.Count)
			fmt.Println(span.AppendTimestamps(nil), span.AppendValues(nil))
		}
	}
	// Output:
	// temperature [{hall 3}]: 2 points
	// [1795246807000000 1795246808000000] [21.4 21.5]
}
