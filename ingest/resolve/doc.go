// Package resolve finds the sources and the series of a parsed request in caches or, in bulk, in
// the stores. It creates sources if the format requires it, registers new series, chooses the
// partitions of sources, and rejects points of unknown sources, points beyond the workspace's limits
// and points older than its retention. It imports no store; it accesses them through [Deps].
package resolve
