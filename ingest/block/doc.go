// Package block is what a request becomes on its way from bytes to records. A parser fills a
// [Batch]: columns of times and values, the labels that name their series, the sources that
// these belong to, and a tally of what is rejected. Package resolve gives sources and series
// their ids. [Batch.Encode] writes the points, ordered by series, into one record a partition.
//
// The package owns the rules of names, tags and values that all formats share. It knows no
// wire format: what differs between formats are the [Hooks] that a parser sets.
package block
