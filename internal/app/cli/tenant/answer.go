package tenant

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/app/output"
)

// AnswerCmd answers a question.
type AnswerCmd struct {
	tenant
	Query        string   `arg:"" help:"The question."`
	Generate     bool     `help:"Let the configured chat model write the answer from what is found. Without it, sentences are quoted."`
	MaxSentences int      `help:"Maximum number of sentences of the answer, 1 to 10." default:"3"`
	EntityType   []string `help:"Only nodes of these types: ${entityTypes}." placeholder:"TYPE"`
	Limit        int      `help:"Maximum number of results whose texts are read, 1 to 100." default:"10"`
	Rerank       bool     `help:"Order the best results again by the configured reranking model before their texts are read."`
	propertyFilter
	searchedDocuments
	MinScore *float64    `help:"Minimum score of a result, 0 to 1." placeholder:"SCORE"`
	Hops     *int        `help:"Maximum distance in edges, 0 to 3." placeholder:"EDGES"`
	Node     []uuid.UUID `help:"Also start from this node; repeat it for several." placeholder:"ID"`
}

// questionAnswer is the answer of the route.
type questionAnswer struct {
	Data struct {
		Answer    *string
		Generated *struct {
			Model     string
			Truncated bool
			Sentences []struct {
				Text      string
				Supported bool
			}
		}
		Citations []struct {
			NodeID, Name, EntityType, SourceURL string
			Document                            *struct {
				Title string
				Page  int
			}
		}
	}
	Meta struct{ Degraded []string }
}

// Run prints the answer and its sources.
func (c *AnswerCmd) Run(ctx context.Context, out *output.Writer) error {
	body := searchBody(c.Query, c.Limit, c.MinScore, c.EntityType)
	c.addProperties(body)
	c.addTo(body)
	body["maxSentences"] = c.MaxSentences
	if c.Generate {
		body["mode"] = "generate"
	}
	addRerank(body, c.Rerank)
	addSeeds(body, c.Hops, c.Node)
	return c.withReadRoutes(ctx, func(v *session) error {
		got, err := v.post(ctx, "/api/rag/answer", body)
		if err != nil || c.JSON {
			return printAnswer(out, got, err)
		}
		found, err := decode[questionAnswer](got)
		if err != nil {
			return err
		}
		return printQuoted(out, &found)
	})
}

// printQuoted prints an answer, and a line for each of its sources.
func printQuoted(out *output.Writer, found *questionAnswer) error {
	var text strings.Builder
	if found.Data.Answer == nil {
		text.WriteString("no sentence answers the question\n")
	} else {
		text.WriteString(output.Printable(*found.Data.Answer) + "\n\n")
	}
	if g := found.Data.Generated; g != nil && found.Data.Answer != nil {
		for _, s := range g.Sentences {
			if !s.Supported {
				fmt.Fprintf(&text, "not in the cited sources: %s\n", output.Printable(s.Text))
			}
		}
		fmt.Fprintf(&text, "written by %s from these sources:\n", output.Printable(g.Model))
	}
	for i, source := range found.Data.Citations {
		fmt.Fprintf(
			&text, "[%d] %s  (%s %s)", i+1, output.Printable(source.Name), output.Printable(source.EntityType),
			output.Printable(source.NodeID),
		)
		if source.Document != nil {
			fmt.Fprintf(&text, ", document %s", output.Printable(source.Document.Title))
			if source.Document.Page > 0 {
				fmt.Fprintf(&text, ", page %d", source.Document.Page)
			}
		}
		if source.SourceURL != "" {
			fmt.Fprintf(&text, ", %s", output.Printable(source.SourceURL))
		}
		text.WriteByte('\n')
	}
	writeDegraded(&text, found.Meta.Degraded)
	_, err := fmt.Fprint(out, text.String())
	return err
}
