// Package jsonpoints parses points in JSON: one object with a list of rows (points) or of
// columns (series), or NDJSON, whose lines are each a row or a series.
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
// If several errors apply, a syntax error takes precedence: a body that is not JSON is always
// Malformed. Otherwise the first error in the order of the body is returned.
//
// A source's id may be in upper case. A point's own tags override the request's tags by key. The
// limit of tags includes both.
//
// In NDJSON each line is parsed like an entry of points or series. The first line that does not
// have that form refuses the request, regardless of what follows. Errors contain the line, and
// the paths of fields are relative to the line's object.
package jsonpoints
