// Package livegraph is a client of the REST API of Livegraph: live data, a graph and search.
//
// A [Client] works on one workspace with one API key, and is safe for concurrent use. Its
// fields group the methods: Sources and Points, Nodes, Edges, Commands and Changes of the
// graph, Analyses, Documents and Search, Prometheus, and Rules, Alerts and Webhooks. Each
// method accepts a context first, which bounds all of its attempts.
//
// # Retries
//
// A request that fails with 429, 500, 502, 503 or 504, or without a response, is sent again,
// as [Retry] describes. That is safe: reads change nothing, commands and points without
// timestamps have an Idempotency-Key, which is the same for each attempt, and a point with
// the same timestamp replaces itself. Methods that would not be safe are only repeated if the
// server certainly did not execute the request, as their comments describe.
//
// # Errors
//
// The server's errors are [*APIError]. [errors.Is] compares them with the sentinel of their
// status, such as [ErrNotFound]. [*TransportError] means that there was no response, and
// [*ResponseError] that it is not one of the API. [OutcomeUnknown] reports whether the server
// may have executed a request that failed. No error contains the API key.
//
// # Lists and streams
//
// List methods return one [Page]. Methods All iterate over all pages. An [EventStream]
// iterates over events, and reconnects after the last one.
//
// # Types
//
// Types of requests and responses are generated from the OpenAPI document. A text that is
// null in a response is "", a time that is null is the zero time. Changes of a source, a
// node, an edge or a webhook consist of [Field] values: [Set] changes a field, [Null]
// removes it, and a field that is neither does not change.
package livegraph
