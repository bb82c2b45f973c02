// Package ingest turns the body of an ingest request into records of topic points: it parses
// and validates, resolves sources and series, encodes and produces. It is the service's hot
// path: it reads the body's bytes in one pass, with buffers that are reused between requests,
// and allocates per request, not per point.
//
// A request passes through a [Pipeline] in this order:
//
//	admission  memory for its bytes, or Unavailable at once
//	parse      syntax, fields, types, rules: into columns, and labels that name series
//	           (ingest/parse, one package a wire format, into a block.Batch)
//	sources    which of them exist: cached for a second, else queried in bulk (ingest/resolve)
//	series     labels to fingerprints to ids: cached, else registered in bulk (ingest/resolve)
//	encode     points in the order of their series into one record per partition (ingest/block)
//	produce    all records at once, acknowledged by all replicas
//
// All formats become the same columns and labels. Clients of some formats cannot create sources.
// In these formats, an unknown source name creates a source, up to the workspace's limit.
//
// The packages import no store. They access stores through the small interfaces of [Deps].
// HTTP, keys, decompression and the checkpoint belong to the API.
//
// # Refused requests and rejected points
//
// The whole request is refused if its form is wrong, or if a value that applies to the whole
// request is wrong (Malformed, Invalid, UnsupportedMedia, TooLarge). A point is rejected for its
// own values, and the other points are accepted. The package of each format documents which
// errors refuse the request. Common to all:
//
//	records of more than 64 MiB                                          TooLarge
//	no points; all rejected; any rejected in a strict request            Invalid, with errors
//	timestamp: before 1970, over a day ahead, older than the retention   rejected
//	value: beyond float64; a string over 1,024 bytes or with U+0000      rejected
//	metric or tag name: empty, over 256 characters, with U+0000          rejected
//	tag value: over 1,024 bytes, with U+0000                             rejected
//	over 64 tags                                                         rejected
//	source: unknown, of another workspace, deleted                       rejected
//	new source, new series: the workspace's limit is reached             rejected
//
// The following are accepted: -0; numbers below the smallest float64, as 0; integers beyond 2^53,
// rounded to the nearest float64 like every JSON number; numbers and strings in one series, which
// become two series because the kind of value is part of a series' identity; tags in any order;
// empty tag values. If several points have the same identity and time, the last one wins and all
// count as accepted.
package ingest
