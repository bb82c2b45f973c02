package queries

import (
	"time"

	"github.com/livegraph/livegraph/api/columns"
	"github.com/livegraph/livegraph/api/graphjson"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/budget"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres/graphread"
)

// The columns of lists. They contain no field deleted, because lists contain no deleted resources.
var (
	nodeColumns = columns.List[graphjson.Node]{
		columns.Text("id", func(n *graphjson.Node) string { return n.ID.String() }),
		columns.Text("name", func(n *graphjson.Node) string { return n.Name }),
		columns.Names("entityType", func(n *graphjson.Node) string { return n.EntityType }),
		columns.OptionalText("description", func(n *graphjson.Node) *string { return n.Description }),
		columns.Text("properties", func(n *graphjson.Node) string { return string(n.Properties) }),
		columns.Time("createdAt", func(n *graphjson.Node) time.Time { return n.CreatedAt }),
		columns.Time("updatedAt", func(n *graphjson.Node) time.Time { return n.UpdatedAt }),
		columns.Int("version", func(n *graphjson.Node) int64 { return n.Version }),
	}
	edgeColumns = columns.List[graphjson.Edge]{
		columns.Text("id", func(e *graphjson.Edge) string { return e.ID.String() }),
		columns.Text("sourceId", func(e *graphjson.Edge) string { return e.SourceID.String() }),
		columns.Text("targetId", func(e *graphjson.Edge) string { return e.TargetID.String() }),
		columns.Names("relationType", func(e *graphjson.Edge) string { return e.RelationType }),
		columns.Text("properties", func(e *graphjson.Edge) string { return string(e.Properties) }),
		columns.Time("createdAt", func(e *graphjson.Edge) time.Time { return e.CreatedAt }),
		columns.Time("updatedAt", func(e *graphjson.Edge) time.Time { return e.UpdatedAt }),
		columns.Int("version", func(e *graphjson.Edge) int64 { return e.Version }),
	}
)

const (
	// columnBytes is the size of the items of a page of columns after which it ends.
	columnBytes = 8 << 20
	// maxNodeBytes and maxEdgeBytes are the approximate maximum sizes of an item.
	maxNodeBytes = graph.MaxDescription + maxEdgeBytes
	maxEdgeBytes = graph.MaxProperties + 24<<10 // texts of four bytes a character, and the overhead of the properties
	// bytesPerByte is the memory of a byte of an item in a page: as an item, as JSON, and in a record batch with the
	// buffers of its format.
	bytesPerByte = 3
	// pageMemory bounds the memory of all pages of columns that are being read and sent: ten of the largest ones,
	// 430 MB.
	pageMemory = 10 * bytesPerByte * (columnBytes + graphread.FetchItems*maxNodeBytes)
)

// reserve bounds the size of a page of columns, and reserves its memory. It returns an Unavailable error if too many
// pages are being sent.
func (a *api) reserve(page *graphread.Page, maxItemBytes int64) (*budget.Share, error) {
	page.MaxBytes = columnBytes
	largest := min(int64(page.Limit)*maxItemBytes, columnBytes+graphread.FetchItems*maxItemBytes)
	share, ok := a.pages.TryAcquire(bytesPerByte * largest)
	if !ok {
		return nil, fault.New(fault.Unavailable, "Too many large lists are being read").After(time.Second)
	}
	return share, nil
}
