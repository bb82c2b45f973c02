package mapping_test

import (
	"math"
	"testing"

	"github.com/livegraph/livegraph/internal/app/mqtt/mapping"
)

// FuzzMapJSON checks that no payload harms the process, and that all values are finite and all times are allowed.
func FuzzMapJSON(f *testing.F) {
	f.Add([]byte(`{"id":"s","at":1763700000001,"t":1,"door":{"open":true}}`))
	f.Add([]byte(`[{"id":"s","at":"2025-11-21T05:20:00Z","t":-1e9},{"id":1}]`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		m, err := mapping.New(&mapping.Config{
			Topic: "{a}/{b...}", Payload: mapping.JSON, Source: "{a} {.id}", Tags: map[string]string{"k": "{.door.open}"},
			Time: &mapping.Time{Field: "at"},
		})
		if err != nil {
			t.Fatal(err)
		}
		points, _, _ := m.Points(&mapping.Message{Topic: "x/y/z", Payload: payload, ArrivedUS: arrived})
		for _, p := range points {
			if math.IsNaN(p.Value.Number) || math.IsInf(p.Value.Number, 0) || p.TimeUS < 0 || p.Source == "" {
				t.Fatal(p)
			}
		}
	})
}
