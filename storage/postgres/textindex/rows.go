package textindex

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/retrieval/lexical"
	"github.com/livegraph/livegraph/storage/postgres"
)

// lexicalNode is the current state of a node, and its state in the text index.
type lexicalNode struct {
	workspace, id uuid.UUID
	live          bool
	name          string
	description   string
	properties    graph.Properties
	digest        []byte

	indexed      bool // whether the text index contains it
	storedDigest []byte
	length       int64
	terms        []string
}

func (n *lexicalNode) document() lexical.Document {
	return lexical.Document{Name: n.name, Description: n.description, Properties: n.properties}
}

const selectLexicalNodes = `SELECT t.workspace_id, t.id, coalesce(NOT n.deleted, false), coalesce(n.name, ''),
	coalesce(n.description, ''),
		n.properties::text, coalesce(length(l.digest) > 0, false), l.digest, coalesce(l.length, 0), coalesce(l.terms, '')
	FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS t (workspace_id, id, place)
	LEFT JOIN nodes n ON n.workspace_id = t.workspace_id AND n.id = t.id
	LEFT JOIN lexical_nodes l ON l.workspace_id = t.workspace_id AND l.node_id = t.id
	ORDER BY t.place`

func (p *lexicalBatch) read(ctx context.Context, nodes postgres.IDList) ([]lexicalNode, error) {
	if len(nodes.IDs) == 0 {
		return nil, nil
	}
	rows, err := p.tx.Query(ctx, selectLexicalNodes, nodes.Workspaces, nodes.IDs)
	if err != nil {
		return nil, fmt.Errorf("reading nodes: %w", err)
	}
	read, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (n lexicalNode, err error) {
		var properties []byte
		var terms string
		err = row.Scan(
			&n.workspace, &n.id, &n.live, &n.name, &n.description, &properties, &n.indexed, &n.storedDigest, &n.length, &terms,
		)
		n.terms = strings.Fields(terms)
		if err != nil || !n.live {
			return n, err
		}
		n.digest = textDigest(n.name, n.description, properties)
		n.properties, err = graph.ReadProperties(jsontext.Value(properties))
		return n, err
	})
	if err != nil {
		return nil, fmt.Errorf("reading nodes: %w", err)
	}
	return read, nil
}

// textDigest returns a digest of the texts of a node and the version of the analysis.
func textDigest(name, description string, properties []byte) []byte {
	h := sha256.New()
	var size [8]byte
	for _, part := range [][]byte{{lexical.Version}, []byte(name), []byte(description), properties} {
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		h.Write(size[:])
		h.Write(part)
	}
	return h.Sum(nil)[:16]
}

// lexicalRows are rows of lexical_nodes, as columns.
type lexicalRows struct {
	ids     postgres.IDList
	digests [][]byte
	lengths []int32
	names   []*string
	terms   []string
}

func (r *lexicalRows) add(n *lexicalNode, now lexical.Terms) {
	r.ids.Add(n.workspace, []uuid.UUID{n.id}, nil)
	r.digests = append(r.digests, n.digest)
	r.lengths = append(r.lengths, int32(now.Length))
	var name *string
	if now.Name != "" {
		name = &now.Name
	}
	r.names = append(r.names, name)
	var all strings.Builder
	for i, t := range now.List {
		if i > 0 {
			all.WriteByte(' ') // no term contains a space
		}
		all.WriteString(t.Text)
	}
	r.terms = append(r.terms, all.String())
}

// lexicalPostingRow is a row of lexical_postings.
type lexicalPostingRow struct {
	workspace, node uuid.UUID
	term            string
	count           int16
	length          int32
	hadTerm         bool // the node had the term before
}

type lexicalPostingRows []lexicalPostingRow

func (r *lexicalPostingRows) add(n *lexicalNode, t lexical.Term, length int, hadTerm bool) {
	*r = append(*r, lexicalPostingRow{
		workspace: n.workspace, node: n.id, term: t.Text, count: int16(min(t.Count, math.MaxInt16)), length: int32(length),
		hadTerm: hadTerm,
	})
}

// columns returns the rows as columns, sorted by the table's key, which makes the index faster to
// update.
func (r lexicalPostingRows) columns() (ids postgres.IDList, terms []string, counts []int16, lengths []int32) {
	slices.SortFunc(r, func(a, b lexicalPostingRow) int {
		return cmp.Or(
			bytes.Compare(a.workspace[:], b.workspace[:]), cmp.Compare(a.term, b.term), bytes.Compare(a.node[:], b.node[:]),
		)
	})
	for _, row := range r {
		ids.Workspaces = append(ids.Workspaces, postgres.UUID(row.workspace))
		ids.IDs = append(ids.IDs, postgres.UUID(row.node))
		terms, counts, lengths = append(terms, row.term), append(counts, row.count), append(lengths, row.length)
	}
	return ids, terms, counts, lengths
}

const (
	insertLexicalNodes = `INSERT INTO lexical_nodes AS l (workspace_id, node_id, digest, length, name_key, terms)
		SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::bytea[], $4::int[], $5::text[], $6::text[])
		ON CONFLICT (workspace_id, node_id) DO UPDATE
		SET digest = excluded.digest, length = excluded.length, name_key = excluded.name_key, terms = excluded.terms`
	// A removed node keeps a row, so that searches detect the removal by its revision.
	removeLexicalNodes = `UPDATE lexical_nodes l SET digest = '', length = 0, name_key = NULL, terms = ''
		FROM unnest($1::uuid[], $2::uuid[]) AS t (workspace_id, id) WHERE l.workspace_id = t.workspace_id
		AND l.node_id = t.id`
	insertPostings = `INSERT INTO lexical_postings AS p (workspace_id, term, node_id, count, length)
		SELECT * FROM unnest($1::uuid[], $2::text[], $3::uuid[], $4::smallint[], $5::int[])
		ON CONFLICT (workspace_id, term, node_id) DO UPDATE SET count = excluded.count, length = excluded.length
		WHERE p.count <> excluded.count OR p.length <> excluded.length`
	deletePostings = `DELETE FROM lexical_postings p USING unnest($1::uuid[], $2::text[], $3::uuid[]) AS t (workspace_id,
		term, id)
		WHERE p.workspace_id = t.workspace_id AND p.term = t.term AND p.node_id = t.id`
	changeTerms = `INSERT INTO lexical_terms AS l (workspace_id, term, nodes) SELECT *
		FROM unnest($1::uuid[], $2::text[], $3::bigint[])
		ON CONFLICT (workspace_id, term) DO UPDATE SET nodes = l.nodes + excluded.nodes`
	// changeTermsAndList is changeTerms, and also creates a champion list, which is filled later,
	// for each changed term of more than $4 nodes.
	changeTermsAndList = `WITH changed AS (` + changeTerms + ` RETURNING workspace_id, term, nodes)
		INSERT INTO lexical_champion_lists (workspace_id, term)
		SELECT workspace_id, term FROM changed WHERE nodes > $4 ON CONFLICT DO NOTHING`
	deleteTerms = `DELETE FROM lexical_terms l USING unnest($1::uuid[], $2::text[]) AS t (workspace_id, term)
		WHERE l.workspace_id = t.workspace_id AND l.term = t.term AND l.nodes <= 0`
	changeLexicalTotals = `INSERT INTO lexical_workspaces AS l (workspace_id, nodes, length, version) SELECT t.*, $4
		FROM unnest($1::uuid[], $2::bigint[], $3::bigint[]) AS t
		ON CONFLICT (workspace_id) DO UPDATE SET nodes = l.nodes + excluded.nodes, length = l.length + excluded.length,
		updated_at = now()`
)

// write writes the staged changes.
func (p *lexicalBatch) write(ctx context.Context) error {
	batch := &pgx.Batch{}
	if r := &p.nodes; len(r.lengths) > 0 {
		batch.Queue(insertLexicalNodes, r.ids.Workspaces, r.ids.IDs, r.digests, r.lengths, r.names, r.terms)
	}
	if len(p.removed.IDs) > 0 {
		batch.Queue(removeLexicalNodes, p.removed.Workspaces, p.removed.IDs)
	}
	if len(p.dropped) > 0 {
		ids, terms, _, _ := p.dropped.columns()
		batch.Queue(deletePostings, ids.Workspaces, terms, ids.IDs)
	}
	if len(p.postings) > 0 {
		ids, terms, counts, lengths := p.postings.columns()
		batch.Queue(insertPostings, ids.Workspaces, terms, ids.IDs, counts, lengths)
	}
	p.queueChampions(batch)
	p.queueTerms(batch)
	p.queueTotals(batch)
	p.queueLinks(batch)
	if batch.Len() == 0 {
		return nil
	}
	if err := p.tx.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("writing postings: %w", err)
	}
	return nil
}

func (p *lexicalBatch) queueTerms(batch *pgx.Batch) {
	changed := make(lexicalPostingRows, 0, len(p.terms))
	for t, change := range p.terms {
		if change != 0 {
			changed = append(changed, lexicalPostingRow{workspace: t.workspace, term: t.text})
		}
	}
	if len(changed) == 0 {
		return
	}
	ids, terms, _, _ := changed.columns()
	changes := make([]int64, len(terms))
	var fewer postgres.IDList
	var fewerTerms []string
	for i, text := range terms {
		changes[i] = p.terms[lexicalTerm{ids.Workspaces[i].Bytes, text}]
		if changes[i] < 0 {
			fewer.Workspaces, fewerTerms = append(fewer.Workspaces, ids.Workspaces[i]), append(fewerTerms, text)
		}
	}
	if rand.N(p.limits.checkInterval) == 0 { //nolint:gosec // G404: a sample
		batch.Queue(changeTermsAndList, ids.Workspaces, terms, changes, p.limits.postings)
	} else {
		batch.Queue(changeTerms, ids.Workspaces, terms, changes)
	}
	if len(fewerTerms) > 0 {
		batch.Queue(deleteTerms, fewer.Workspaces, fewerTerms)
	}
}

func (p *lexicalBatch) queueTotals(batch *pgx.Batch) {
	if len(p.totals) == 0 {
		return
	}
	var workspaces postgres.UUIDs
	var nodes, lengths []int64
	for id, t := range p.totals {
		workspaces, nodes, lengths = append(workspaces, postgres.UUID(id)), append(nodes, t.nodes), append(lengths, t.length)
	}
	batch.Queue(changeLexicalTotals, workspaces, nodes, lengths, lexical.Version)
}
