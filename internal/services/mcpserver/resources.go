package mcpserver

import (
	"context"
	"encoding/json"
	"net/url"
	"sort"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/truncate"
)

// URIs of resources.
const (
	nodeURI        = "livegraph://nodes/"
	sourceURI      = "livegraph://sources/"
	graphSchema    = "livegraph://schema/graph"
	liveDataSchema = "livegraph://schema/live-data"
	jsonType       = "application/json"
)

const (
	// maxRelationTypes is the maximum number of relation types in the schema.
	maxRelationTypes = 20
	// schemaPage and maxSchemaPages are the number of series in a request, and of these requests.
	schemaPage     = 100
	maxSchemaPages = 5
	// maxSchemaSources is the maximum number of sources in the schema.
	maxSchemaSources = 100
	maxMetrics       = 20 // of a source
)

func (c *client) addNodeResource(server *mcp.Server) {
	server.AddResourceTemplate(&mcp.ResourceTemplate{
		Name: "node", Title: "A node", MIMEType: jsonType, URITemplate: nodeURI + "{id}",
		Description: "A node of the graph, as cited by tools.",
	}, c.readOne(nodeURI, "/api/queries/nodes/"))
}

func (c *client) addSourceResource(server *mcp.Server) {
	server.AddResourceTemplate(&mcp.ResourceTemplate{
		Name: "source", Title: "A source", MIMEType: jsonType, URITemplate: sourceURI + "{id}",
		Description: "A source of live data, as cited by tools.",
	}, c.readOne(sourceURI, "/api/live-data/sources/"))
}

// readOne returns a handler that reads a resource of the API by the id in its URI.
func (c *client) readOne(prefix, path string) mcp.ResourceHandler {
	return func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		uri := req.Params.URI
		r, err := c.get(ctx, path+url.PathEscape(strings.TrimPrefix(uri, prefix)), nil)
		if err != nil {
			return nil, err
		}
		var item map[string]any
		if err := decode(r.Data, &item); err != nil {
			return nil, err
		}
		text, _, err := encodeItem(item, "")
		if err != nil {
			return nil, err
		}
		return resourceText(uri, text), nil
	}
}

func resourceText(uri string, text []byte) *mcp.ReadResourceResult {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: jsonType, Text: string(text)}}}
}

// typeCount is the number of nodes or edges of a type.
type typeCount struct {
	Type  string `json:"type"`
	Count int64  `json:"count"`
}

// graphCounts are the numbers of nodes and edges by type. nil: the key may not read them.
type graphCounts struct {
	Nodes *struct {
		Types []typeCount `json:"types"`
	} `json:"nodes"`
	Edges *struct {
		Types      []typeCount `json:"types"`
		OtherTypes int64       `json:"otherTypes"`
	} `json:"edges"`
}

func (c *client) addGraphSchema(server *mcp.Server) {
	server.AddResource(&mcp.Resource{
		Name: "graph-schema", Title: "Schema of the graph", MIMEType: jsonType, URI: graphSchema,
		Description: "The types of nodes and edges in the workspace, with their numbers.",
	}, func(ctx context.Context, _ *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		schema, err := c.readGraphSchema(ctx)
		if err != nil {
			return nil, err
		}
		text, err := encode(schema)
		if err != nil {
			return nil, err
		}
		return resourceText(graphSchema, text), nil
	})
}

// readGraphSchema returns the types of nodes and edges, the most frequent first, that the key may read.
func (c *client) readGraphSchema(ctx context.Context) (map[string]any, error) {
	r, err := c.get(ctx, "/api/queries/counts", url.Values{"limit": {strconv.Itoa(maxRelationTypes)}})
	if err != nil {
		return nil, err
	}
	var counts graphCounts
	if err := decode(r.Data, &counts); err != nil {
		return nil, err
	}
	schema := map[string]any{}
	if counts.Nodes != nil {
		schema["entityTypes"] = entityTypes(counts.Nodes.Types)
	}
	if counts.Edges != nil {
		list := make([]typeCount, 0, len(counts.Edges.Types))
		for _, t := range counts.Edges.Types {
			list = append(list, typeCount{truncate.Bytes(t.Type, maxName), t.Count})
		}
		schema["relationTypes"], schema["relationTypesComplete"] = list, counts.Edges.OtherTypes == 0
	}
	return schema, nil
}

// entityTypes returns all entity types with their numbers.
func entityTypes(counted []typeCount) (list []typeCount) {
	for _, entityType := range graph.EntityTypes() {
		count := typeCount{Type: entityType}
		for _, t := range counted {
			if t.Type == entityType {
				count = t
			}
		}
		list = append(list, count)
	}
	return list
}

// schemaSource is a source in the schema.
type schemaSource struct {
	ID      string         `json:"id"`
	Name    string         `json:"name"`
	Metrics []schemaMetric `json:"metrics"`
}

// schemaMetric is a metric of a source, with the number of its series and points.
type schemaMetric struct {
	Metric string   `json:"metric"`
	Kind   string   `json:"kind"`
	Unit   string   `json:"unit,omitempty"`
	Tags   []string `json:"tags,omitempty"` // their keys
	Series int      `json:"series"`
	Points int64    `json:"points"`
}

// listedSeries is a series in the API's list.
type listedSeries struct {
	SourceID, SourceName, Metric, Kind string
	Unit                               *string
	Tags                               map[string]string
	Count                              int64
}

func (c *client) addLiveDataSchema(server *mcp.Server) {
	server.AddResource(&mcp.Resource{
		Name: "live-data-schema", Title: "Schema of the live data", MIMEType: jsonType, URI: liveDataSchema,
		Description: "The sources of the workspace and their metrics, with the numbers of their series and points.",
	}, func(ctx context.Context, _ *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		text, err := c.readLiveDataSchema(ctx)
		if err != nil {
			return nil, err
		}
		return resourceText(liveDataSchema, text), nil
	})
}

// readLiveDataSchema returns the schema of the live data as JSON.
func (c *client) readLiveDataSchema(ctx context.Context) (json.RawMessage, error) {
	var sources []*schemaSource
	total, read := int64(0), 0
	for range maxSchemaPages {
		query := url.Values{"limit": {strconv.Itoa(schemaPage)}, "offset": {strconv.Itoa(read)}}
		r, err := c.get(ctx, "/api/live-data/series", query)
		if err != nil {
			return nil, err
		}
		var page []listedSeries
		if err := json.Unmarshal(r.Data, &page); err != nil {
			return nil, err
		}
		if r.Meta.Total != nil {
			total = *r.Meta.Total
		}
		for i := range page {
			sources = addToSchema(sources, &page[i])
		}
		if read += len(page); !r.Meta.HasMore || len(page) == 0 || len(sources) > maxSchemaSources {
			break
		}
	}
	return encodeSchema(sources, total, read)
}

// addToSchema adds a series to the schema. The series are sorted by source and metric.
func addToSchema(sources []*schemaSource, s *listedSeries) []*schemaSource {
	if n := len(sources); n == 0 || sources[n-1].ID != s.SourceID {
		sources = append(sources, &schemaSource{ID: s.SourceID, Name: truncate.Bytes(s.SourceName, maxName)})
	}
	source := sources[len(sources)-1]
	n := len(source.Metrics)
	if n == 0 || source.Metrics[n-1].Metric != s.Metric || source.Metrics[n-1].Kind != s.Kind {
		m := schemaMetric{Metric: s.Metric, Kind: s.Kind}
		if s.Unit != nil {
			m.Unit = *s.Unit
		}
		source.Metrics = append(source.Metrics, m)
		n++
	}
	m := &source.Metrics[n-1]
	m.Series++
	m.Points += s.Count
	for key := range s.Tags {
		if i := sort.SearchStrings(m.Tags, key); len(m.Tags) < maxMetrics && (i == len(m.Tags) || m.Tags[i] != key) {
			m.Tags = append(m.Tags[:i], append([]string{key}, m.Tags[i:]...)...)
		}
	}
	return sources
}

// encodeSchema encodes as many of the sources as an answer can have.
func encodeSchema(sources []*schemaSource, total int64, read int) ([]byte, error) {
	schema := map[string]any{"seriesTotal": total, "seriesRead": read}
	list, size := []json.RawMessage{}, 0
	for i, source := range sources {
		if omitted := len(source.Metrics) - maxMetrics; omitted > 0 {
			source.Metrics = source.Metrics[:maxMetrics]
		}
		text, err := encode(source)
		if err != nil {
			return nil, err
		}
		if size += len(text); i == maxSchemaSources || size > maxAnswerBytes {
			break
		}
		list = append(list, text)
	}
	schema["sources"] = list
	if int64(read) < total || len(list) < len(sources) {
		schema["note"] = "There is more: list it with the tool series."
	}
	return encode(schema)
}
