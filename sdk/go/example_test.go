package livegraph_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	livegraph "github.com/livegraph/livegraph/sdk/go"
)

// exampleServer is a server that answers each request with the same node, after a failure.
func exampleServer() *httptest.Server {
	requests := 0
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		switch {
		case requests == 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.URL.Path == "/api/queries/nodes":
			_, _ = fmt.Fprint(w, `{"success":true,"data":[{"name":"Pump 7"},{"name":"Hall 3"}],
				"meta":{"total":2,"hasMore":false,"nextCursor":null}}`)
		case r.Method == http.MethodPost:
			_, _ = fmt.Fprint(w, `{"success":true,"data":{"accepted":2,"rejected":0,"errors":[],"checkpoint":"c"}}`)
		default:
			w.WriteHeader(http.StatusNotFound)
			_, _ = fmt.Fprint(w, `{"success":false,"error":{"code":"NOT_FOUND","message":"No such node"}}`)
		}
	}))
}

func exampleClient(server *httptest.Server) *livegraph.Client {
	client, err := livegraph.New(
		server.URL, "lg_live_example", livegraph.WithWorkspace("0194a5b0-0000-7000-8000-00000000000a"),
		livegraph.WithRetry(livegraph.Retry{First: time.Millisecond}),
	)
	if err != nil {
		panic(err)
	}
	return client
}

// All iterates over all pages of a list. The server of the example fails once, and the request is repeated.
func ExampleNodes_All() {
	server := exampleServer()
	defer server.Close()
	client := exampleClient(server)

	filter := livegraph.NodeFilter{EntityTypes: []livegraph.EntityType{livegraph.EntityTypeObject}}
	for node, err := range client.Nodes.All(context.Background(), filter) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(node.Name)
	}
	// Output:
	// Pump 7
	// Hall 3
}

func ExampleClient_NewWriter() {
	server := exampleServer()
	defer server.Close()
	client, ctx := exampleClient(server), context.Background()

	writer, err := client.NewWriter(livegraph.WriterOptions{
		OnError: func(err *livegraph.WriteError) { fmt.Fprintln(os.Stderr, err) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, value := range []float64{71.5, 71.75} {
		if err := writer.Write(ctx, livegraph.Point{Source: "pump", Metric: "temperature", Value: value}); err != nil {
			fmt.Println(err)
			return
		}
	}
	if err := writer.Close(ctx); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(writer.Stats().Stored)
	// Output: 2
}

func ExampleAPIError() {
	server := exampleServer()
	defer server.Close()

	_, err := exampleClient(server).Nodes.Get(context.Background(), "0194a5b0-0000-7000-8000-00000000000b")
	if errors.Is(err, livegraph.ErrNotFound) {
		fmt.Println(err)
	}
	// Output: 404 NOT_FOUND: No such node
}

func ExampleNodePatch() {
	changes := livegraph.NodePatch{
		Name:        livegraph.Set("Pump 8"),
		Description: livegraph.Null[string](),
		Properties:  livegraph.Set(map[string]any{"kW": 15, "retired": nil}),
	}
	command := livegraph.UpdateNode("0194a5b0-0000-7000-8000-00000000000b", changes).IfVersion(3)
	fmt.Println(command.Type, command.ExpectedVersion)
	// Output: UPDATE_NODE 3
}
