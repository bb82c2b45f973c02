package tenant

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/documents"
	"github.com/livegraph/livegraph/internal/app/output"
	"github.com/livegraph/livegraph/internal/app/stores"
)

// DocumentsListCmd lists documents.
type DocumentsListCmd struct {
	tenant
	ExternalID string `help:"Only the document with exactly this external id." placeholder:"ID"`
	documentFilter
	Sort   string `help:"Order: created (oldest first), newest (last change first) or timestamp (newest timestamp first, documents without one last)." enum:"created,newest,timestamp" default:"created"`
	Limit  int    `help:"Maximum number of documents, 1 to 100." default:"50"`
	Offset int    `help:"Number of documents to skip." default:"0"`
}

// listedDocument is a document in the API's list.
type listedDocument struct {
	ID           uuid.UUID
	ExternalID   string
	Title        string
	ContentType  string
	Tags         []string
	Revision     int64
	PassageCount int
	UpdatedAt    time.Time
}

// Run prints the documents.
func (c *DocumentsListCmd) Run(ctx context.Context, out *output.Writer) error {
	list := documentListing()
	list.path = "/api/documents"
	list.query = url.Values{"limit": {strconv.Itoa(c.Limit)}, "offset": {strconv.Itoa(c.Offset)}}
	setParameter(list.query, "externalId", c.ExternalID)
	list.query.Set("sort", c.Sort)
	c.addParameters(list.query)
	return c.withStores(ctx, func(s *stores.Stores, v *session) error {
		// To read documents takes only Postgres. The routes that write, which the list does not call, would need more.
		v.serve(documents.Routes(documents.Deps{Graph: s.Postgres, QueryTimeout: c.API.QueryTimeout}))
		return list.printWith(ctx, out, &c.tenant, v)
	})
}

func documentListing() listing[listedDocument] {
	return listing[listedDocument]{
		noun: "document",
		head: []string{"EXTERNAL ID", "TITLE", "TYPE", "REVISION", "PASSAGES", "UPDATED", "TAGS", "ID"},
		row: func(d *listedDocument) []string {
			tags := "-"
			if len(d.Tags) > 0 {
				tags = strings.Join(d.Tags, ",")
			}
			return []string{
				d.ExternalID, d.Title, d.ContentType, strconv.FormatInt(d.Revision, 10), strconv.Itoa(d.PassageCount),
				timeText(&d.UpdatedAt), tags, d.ID.String(),
			}
		},
	}
}
