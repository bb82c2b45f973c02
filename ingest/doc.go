// Package ingest turns the body of an ingest request into records of topic points: it parses
// and validates, resolves sources and series, encodes and produces. It is the service's hot
// path: it reads the body's bytes in one pass, with buffers that are kept between requests,
// and allocates by request, not by point.
//
// A request passes through a [Pipeline] in this order:
//
//	admission  memory for its bytes, or Unavailable at once
//	parse      syntax, fields, types, rules: into columns, and labels that name series
//	           (ingest/parse, one package a wire format, into a block.Batch)
//	sources    which of them exist: cached for a second, else asked for in bulk (ingest/resolve)
//	series     labels to fingerprints to ids: cached, else registered in bulk (ingest/resolve)
//	encode     points in the order of their series into one record a partition (ingest/block)
//	produce    all records at once, acknowledged by all replicas
//
// All formats become the same columns and labels. In formats whose clients know nothing of
// sources, a name that no source has creates one, up to the workspace's limit.
//
// The packages import no store: what they need of one are the small interfaces of [Deps].
// HTTP, keys, decompression and the checkpoint belong to the API.
//
// # What is refused, and how
//
// The request as a whole is refused for its form, and for values that belong to it as a whole
// (Malformed, Invalid, UnsupportedMedia, TooLarge). A point is rejected for its own values, and
// the rest is accepted. Each format's package says what is what. Common to all:
//
//	records of more than 64 MiB                                          TooLarge
//	no points; all rejected; any rejected in a strict request            Invalid, with errors
//	timestamp: before 1970, over a day ahead, older than the retention   rejected
//	value: beyond float64; a string over 1,024 bytes or with U+0000      rejected
//	metric or tag's name: empty, over 256 characters, with U+0000        rejected
//	tag's value: over 1,024 bytes, with U+0000                           rejected
//	over 64 tags                                                         rejected
//	source: unknown, of another workspace, deleted                       rejected
//	new source, new series: the workspace's limit is reached             rejected
//
// Accepted unchanged: -0; numbers below the smallest float64 (0); integers beyond 2^53 (rounded
// to the nearest float64, like every JSON number); numbers and strings in one series, which
// become two, because the kind of value is part of a series' identity; tags in any order. An
// empty tag value is a value. Of several points with one identity and time the last wins, and
// all count as accepted.
package ingest
