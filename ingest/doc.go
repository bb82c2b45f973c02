// Package ingest turns the body of an ingest request into records of topic
// points: it parses and checks, resolves sources and series, encodes and
// produces. It is the service's hot path, so it works on the body's bytes in one
// pass, with state that is kept between requests, and allocates by request, not
// by point.
//
// A request passes through a [Pipeline] in this order:
//
//	gate       room for its bytes, or Unavailable at once
//	parse      syntax, fields, types, rules: into columns, and labels that name series
//	sources    which of them exist: remembered for a second, else asked in bulk
//	series     labels to fingerprints to ids: remembered, else registered in bulk
//	encode     points in the order of their series into one record a partition
//	produce    all records at once, acknowledged by all replicas
//
// The formats are JSON, which the table below is about, and the line protocol of
// InfluxDB (see lines.go). All become the same columns and labels, and go the same
// way from there. In formats whose clients know nothing of sources, a name that no
// source has makes one, as far as the workspace has room.
//
// The package owns the wire formats and their rules. It imports no store: what it
// needs of them are the small interfaces of [Deps]. HTTP, keys, decompression
// and the checkpoint belong to the API.
//
// # What is refused, and how
//
// The request as a whole is refused for its form, and for values that belong to
// it as a whole; a point (in columns: a value, or all of a series) is rejected
// for its own values, and the rest is accepted.
//
//	no JSON object; invalid UTF-8; lone surrogate; BOM; text after it    Malformed
//	unknown field; field twice (tags included); required field missing   Malformed
//	wrong JSON type, null included; sourceId together with source        Malformed
//	points together with series                                          Malformed
//	unknown precision; a top-level metric or tag that breaks a rule      Invalid
//	timestamps and values of different length                            Invalid, series[i].values
//	more points than the limit; more than 1,024 tags in one object       Invalid
//	records of more than 64 MiB                                          TooLarge
//	no points; all rejected; any rejected in a strict request            Invalid, with errors
//	timestamp: no RFC 3339 time, no integer, before 1970, over a day     rejected
//	  ahead
//	value: beyond float64; a string over 1,024 bytes or with U+0000      rejected
//	metric or tag's name: empty, over 256 characters, with U+0000        rejected
//	tag's value: over 1,024 bytes, with U+0000                           rejected
//	over 64 tags, defaults included                                      rejected
//	source: unknown, of another workspace, deleted, no UUID              rejected
//	new series, the workspace has no room                                rejected
//
// In lines nothing is Malformed but the precision: a line that cannot be read is
// rejected as one point, a line's time that breaks a rule takes all its points
// along, a value its own; too many points are TooLarge; a name that no source can
// have is rejected, and so is a new source where the workspace has no room.
//
// Where several apply, Malformed goes before Invalid only as far as syntax does:
// a body that is no JSON is always Malformed. Otherwise the first in the order
// of the text stands.
//
// Taken as they are: -0; numbers below the smallest float64 (0); integers beyond
// 2^53 (rounded to the nearest float64, like every JSON number); numbers and
// strings in one series, which become two, because the kind of value is part of
// a series' identity; a source's id in upper case; tags in any order. A point's
// own tags are merged over the request's, key by key. An empty tag value is a
// value. Of several points with one identity and time the last stands, and all
// count as accepted.
//
// # Other formats
//
// In lines of JSON (NDJSON) each line is judged like an entry of points or series:
// the first that has not the form refuses the request, whatever is in the lines
// after it. Errors name the line, and fields begin in the line's object.
//
// A remote write of Prometheus that is no WriteRequest is Malformed, one of version
// 2 UnsupportedMedia. All else is rejected by sample:
//
//	value: NaN, infinite                        time: before 1970, over a day ahead
//	a native histogram                          labels: twice, more than 64, not UTF-8
//	metric, label and value as tags above       source: no name for one; no room
//
// A request without samples is taken: Prometheus sends metadata and stale markers
// alone.
package ingest
