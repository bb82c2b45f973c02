package mcpserver

// documentFilter has the parameters of searches that select documents.
type documentFilter struct {
	Documents []string   `json:"documents,omitempty" jsonschema:"only the documents with these ids, up to 100"`
	Tags      []string   `json:"tags,omitempty" jsonschema:"only documents with at least one of these tags"`
	AllTags   []string   `json:"allTags,omitempty" jsonschema:"only documents with each of these tags"`
	Timestamp *timeRange `json:"timestamp,omitempty" jsonschema:"only documents whose timestamp is in this range"`
}

// timeRange is a range of times; empty: no limit.
type timeRange struct {
	From string `json:"from,omitempty" jsonschema:"inclusive, RFC 3339, such as 2026-11-21T00:00:00Z"`
	To   string `json:"to,omitempty" jsonschema:"exclusive, RFC 3339"`
}

func (f *documentFilter) addFilter(body map[string]any) {
	if len(f.Documents) > 0 {
		body["documents"] = f.Documents
	}
	if len(f.Tags) > 0 {
		body["tags"] = f.Tags
	}
	if len(f.AllTags) > 0 {
		body["allTags"] = f.AllTags
	}
	if f.Timestamp != nil {
		body["timestamp"] = f.Timestamp
	}
}
