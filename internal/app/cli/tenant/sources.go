package tenant

import (
	"context"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/app/output"
)

// SourcesCmd groups the commands on sources.
type SourcesCmd struct {
	List SourcesListCmd `cmd:"" help:"List a workspace's sources, and when each was last seen."`
}

// SourcesListCmd lists sources.
type SourcesListCmd struct {
	tenant
	Name   string            `help:"Only those whose name contains this text." placeholder:"TEXT"`
	Tag    map[string]string `help:"Only those with this tag; repeat it for several." placeholder:"KEY=VALUE"`
	Node   *uuid.UUID        `help:"Only those linked to this node." placeholder:"ID"`
	Sort   string            `help:"Comma-separated fields, a leading - for descending: createdAt, updatedAt, name, version." default:"name"`
	Limit  int               `help:"Maximum number of sources, 1 to 100." default:"100"`
	Cursor string            `help:"Continue where the previous page ended." placeholder:"CURSOR"`
}

// listedSource is a source in the API's list.
type listedSource struct {
	ID         uuid.UUID
	Name       string
	Unit       *string
	Tags       map[string]string
	NodeID     *uuid.UUID
	LastSeenAt *time.Time
	Status     *string
}

// Run prints the sources.
func (c *SourcesListCmd) Run(ctx context.Context, out *output.Writer) error {
	query := url.Values{"limit": {strconv.Itoa(c.Limit)}, "sort": {c.Sort}}
	setParameter(query, "name", c.Name)
	setParameter(query, "cursor", c.Cursor)
	if c.Node != nil {
		query.Set("nodeId", c.Node.String())
	}
	for key, value := range c.Tag {
		query.Set("tag."+key, value)
	}
	list := listing[listedSource]{
		path: "/api/live-data/sources", query: query, noun: "source",
		head: []string{"NAME", "ID", "STATUS", "LAST SEEN", "UNIT", "TAGS", "NODE"},
		row: func(s *listedSource) []string {
			return []string{
				s.Name, s.ID.String(), output.TextOr(s.Status, "unknown"), timeText(s.LastSeenAt), output.TextOr(s.Unit, "-"),
				tagText(s.Tags), idText(s.NodeID),
			}
		},
	}
	return list.print(ctx, out, &c.tenant)
}

func idText(id *uuid.UUID) string {
	if id == nil {
		return "-"
	}
	return id.String()
}

func timeText(at *time.Time) string {
	if at == nil {
		return "-"
	}
	return at.Format(time.RFC3339)
}

func tagText(tags map[string]string) string {
	var list []string
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		list = append(list, key+"="+tags[key])
	}
	if len(list) == 0 {
		return "-"
	}
	return strings.Join(list, ",")
}
