package ingest_test

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/ingest"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// exampleStores implements the stores: one source, no limit of series, and a log with one
// partition.
type exampleStores struct{ source uuid.UUID }

func (s exampleStores) SourcesByID(context.Context, uuid.UUID, []uuid.UUID) (map[uuid.UUID]bool, error) {
	return map[uuid.UUID]bool{s.source: true}, nil
}

func (s exampleStores) SourcesByName(context.Context, uuid.UUID, []string) (map[string]uuid.UUID, error) {
	return map[string]uuid.UUID{"boiler": s.source}, nil
}

func (s exampleStores) CreateSources(
	context.Context, uuid.UUID, []string, func(string) map[string]string,
) (map[string]uuid.UUID, error) {
	return nil, nil
}

func (s exampleStores) RegisterSeries(
	_ context.Context, _ uuid.UUID, ids []pointblock.Identity, fps []pointblock.Fingerprint,
) ([]uint64, []bool, error) {
	series, ok := make([]uint64, len(ids)), make([]bool, len(ids))
	for i := range ids {
		series[i], ok[i] = fps[i].SeriesID(), true
	}
	return series, ok, nil
}

func (s exampleStores) Route(context.Context) (pointblock.Route, error) {
	return pointblock.Route{Number: 1, Partitions: 1}, nil
}

func (s exampleStores) ProducePoints(
	_ context.Context, requestID string, messages []pointblock.Message,
) ([]pointblock.Position, error) {
	for _, m := range messages {
		var r pointblock.Record
		if err := pointblock.Decode(m.Value, &r); err != nil {
			return nil, err
		}
		for i := range r.Spans {
			span := &r.Spans[i]
			fmt.Println(requestID, string(span.Metric()), span.AppendTimestamps(nil), span.AppendValues(nil))
		}
	}
	return []pointblock.Position{{Partition: 0, Offset: 41}}, nil
}

func Example() {
	stores := exampleStores{source: uuid.MustParse("0198a1b2-0000-7000-8000-00000000000a")}
	pipeline := ingest.New(ingest.Deps{Sources: stores, Registry: stores, Log: stores, Routes: stores})
	result, err := pipeline.Accept(context.Background(), ingest.JSON, ingest.Request{
		Workspace:  uuid.MustParse("0198a1b2-0000-7000-8000-000000000001"),
		RequestID:  "req_01",
		ReceivedAt: time.Date(2026, 11, 21, 7, 40, 8, 0, time.UTC),
		Body: []byte(`{"source": "boiler", "precision": "s", "points": [
			{"metric": "temperature", "timestamp": 1795246801, "value": 21.5},
			{"metric": "temperature", "timestamp": 1795246802, "value": 21.6},
			{"metric": "temperature", "timestamp": "soon", "value": 21.7}
		]}`),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(
		result.Accepted, "accepted,", result.Rejected, "rejected:", result.Errors[0].Field, result.Errors[0].Reason,
	)
	// Output:
	// req_01 temperature [1795246801000000 1795246802000000] [21.5 21.6]
	// 2 accepted, 1 rejected: points[2].timestamp must be an RFC 3339 time such as 2026-11-21T07:40:08Z
}
