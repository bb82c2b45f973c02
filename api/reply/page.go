package reply

// PageOf returns the items of a page of a list that is in memory. limit and offset are not negative.
func PageOf[T any](items []T, limit, offset int) []T {
	rest := items[min(offset, len(items)):]
	return rest[:min(limit, len(rest))]
}
