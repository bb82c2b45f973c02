package embed_test

import (
	"context"
	"fmt"

	"github.com/livegraph/livegraph/internal/retrieval/embed"
)

func ExampleStatic() {
	var model embed.Embedder = embed.NewStatic()
	vectors, err := model.Embed(context.Background(), []string{
		"pump of the boiler", "the boiler's pump", "quarterly report", "🙂",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(model.Model())
	fmt.Println("alike:", cosine(vectors[0], vectors[1]) > 0.8, cosine(vectors[0], vectors[2]) > 0.8)
	fmt.Println("no vector:", vectors[3] == nil)
	// Output:
	// minilm-static-256 (256 dimensions)
	// alike: true false
	// no vector: true
}
