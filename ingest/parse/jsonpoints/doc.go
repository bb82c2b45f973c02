// Package jsonpoints reads points from JSON: one object with a list of rows (points) or of
// columns (series), or lines of JSON (NDJSON) of which each is a row or a series.
//
//	no JSON object; invalid UTF-8; lone surrogate; BOM; text after it    Malformed
//	unknown field; field twice (tags included); required field missing   Malformed
//	wrong JSON type, null included; sourceId together with source        Malformed
//	points together with series                                          Malformed
//	unknown precision; a top-level metric or tag that breaks a rule      Invalid
//	timestamps and values of different length                            Invalid, series[i].values
//	more points than the limit; more than 1,024 tags in one object       Invalid
//	timestamp: neither an RFC 3339 time nor an integer                   rejected
//	source: not a UUID in sourceId                                       rejected
//
// Where several apply, Malformed goes before Invalid only as far as syntax does: a body that is
// not JSON is always Malformed. Otherwise the first in the order of the text counts.
//
// A source's id may be in upper case. A point's own tags are merged over the request's, key by
// key; the limit of tags includes both.
//
// In NDJSON each line is judged like an entry of points or series: the first line that has not
// that form refuses the request, whatever follows. Errors name the line, and fields begin in
// the line's object.
package jsonpoints
