// Package resolve finds the sources and the series of a parsed request: in caches, else in the
// stores, in bulk. It creates sources where a format asks for it, registers new series, chooses
// the partitions of sources, and rejects what is unknown, beyond the workspace's limits or older
// than its retention. It imports no store: what it needs of one are the interfaces of [Deps].
package resolve
