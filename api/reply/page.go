package reply

import "net/url"

// PageOf returns the items of a page of a list that is in memory. limit and offset are not negative.
func PageOf[T any](items []T, limit, offset int) []T {
	rest := items[min(offset, len(items)):]
	return rest[:min(limit, len(rest))]
}

// NextPage returns the URL of the page after the one at the current URL, for an answer without an envelope. It is empty
// at the end, where the cursor is nil.
func NextPage(current *url.URL, cursor *string) string {
	if cursor == nil {
		return ""
	}
	values := current.Query()
	values.Set("cursor", *cursor)
	values.Del("offset")
	return current.EscapedPath() + "?" + values.Encode()
}
