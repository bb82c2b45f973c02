// Package block has the parsed form of an ingest request and encodes it. A parser fills a
// [Batch]: columns of times and values, the labels that name their series, the sources of the
// series, and a tally of the rejected points. Package resolve sets the ids of sources and
// series. [Batch.Encode] writes the points, ordered by series, into one record per partition.
//
// The package has the rules for names, tags and values that all formats share. It does not
// depend on a wire format: a parser sets the [Hooks] for what differs between formats.
package block
