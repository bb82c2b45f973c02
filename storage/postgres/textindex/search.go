package textindex

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/retrieval"
	"github.com/livegraph/livegraph/internal/retrieval/lexical"
	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/storage/postgres/graphread"
)

// The parameters of BM25, as Robertson and Zaragoza give them ("The Probabilistic
// Relevance Framework: BM25 and Beyond", 2009) and Lucene has them.
const (
	bm25K1 = 1.2
	bm25B  = 0.75
)

// What a search in words does at most, whatever the workspace holds.
const (
	// fewMatches is how many nodes a filter lets through at most for the terms to be
	// looked up node by node.
	fewMatches = 5_000
	// searchNewest is how many of the newest postings are read beside a champion list: of
	// nodes that score the same the newest come first.
	searchNewest = 300
	// searchListed is one in how many of those that were found by champions is looked up in
	// the terms that it was not found by: the best.
	searchListed = 16
	// searchLists is how many champion lists are read.
	searchLists = 2
	// searchTerms is how many terms of a query count: the rarest.
	searchTerms = 32
	// searchFirst is how many postings are read to find candidates, the rarest terms'
	// first. Terms beyond, the frequent ones, are only looked up for candidates: mostly
	// they cannot bring another node among the best. Where they could, searchPostings
	// are read.
	searchFirst    = 10_000
	searchPostings = 20_000
	// searchShare is how much of what all terms can add those beyond can add, so that
	// this is likely.
	searchShare = 0.12
	// searchLookups is how many such looks there are.
	searchLookups = 8_000
	// searchCandidates is how many of the best are looked at.
	searchCandidates = 1_000
	// The last word of a query may be the beginning of prefixTerms terms: the most
	// frequent of the first prefixSeen.
	prefixTerms = 32
	prefixSeen  = 1_000
	// A finished word counts for more than one that begins so.
	prefixWeight = 0.5
	// The nodes that the query calls by a name go up by this share of the best score
	// together; a name that more than namesakes have calls none of them.
	nameBoost = 0.5
	namesakes = 20
)

// searchBounds are those of the bounds that tests lower.
type searchBounds struct {
	first, postings, lookups int64
	few                      int
	champions, championsMost int64
	newest                   int64
	unlisted                 bool // champion lists are left out
	unnoticed                int  // see championsUnnoticed
}

func boundsOfSearches() searchBounds {
	return searchBounds{
		first: searchFirst, postings: searchPostings, lookups: searchLookups, few: fewMatches,
		champions: championsLeast, championsMost: championsMost, newest: searchNewest, unnoticed: championsUnnoticed,
	}
}

// SearchText finds the nodes whose texts suit a query best, by BM25 (k1 1.2, b 0.75),
// best first, at most limit, and those that the query calls by name, the most certain
// first, at most names; these go up among the others, too. They stand and pass the
// filter; which would come before them without it does not matter, but where
// the query has nothing but words of more than 20,000 nodes and the filter lets more
// than 5,000 nodes pass: then what was read of them is what is ranked, the heaviest of
// their postings.
func (db *Store) SearchText(
	ctx context.Context, workspace uuid.UUID, q lexical.Query, f retrieval.Filter, limit, names int,
) (found retrieval.TextFindings, err error) {
	if len(q.Terms) == 0 || limit <= 0 {
		return found, nil
	}
	err = db.root.Reading(ctx, func(tx pgx.Tx) error {
		s := &textSearch{
			tx: tx, workspace: workspace, filter: f, limit: limit, most: db.search, keeper: db.texts,
			memory: recall{texts: db.texts.of(workspace)},
			scores: map[uuid.UUID]float64{}, raised: map[uuid.UUID]float64{},
		}
		found, err = s.run(ctx, q, names)
		return err
	})
	if err != nil {
		return retrieval.TextFindings{}, postgres.Classify(fmt.Errorf("searching texts: %w", err))
	}
	return found, nil
}

func unfiltered(f retrieval.Filter) bool { return len(f.EntityTypes) == 0 && len(f.Properties) == 0 }

// textSearch is a search under way.
type textSearch struct {
	tx        pgx.Tx
	workspace uuid.UUID
	filter    retrieval.Filter
	limit     int
	most      searchBounds
	keeper    *textMemory
	memory    recall

	nodes   float64 // of the workspace
	average float64 // length of their texts
	few     postgres.UUIDs
	bounded bool // only the nodes in few pass the filter
	scores  map[uuid.UUID]float64
	listed  []searchTerm           // of which champions were read
	has     map[uuid.UUID]uint64   // which of listed a candidate was found by, a bit each
	cut     retrieval.TextCut      // what was read of the terms
	raised  map[uuid.UUID]float64  // what of a score is for a name
	asked   float64                // what the terms of the query weigh together
	names   map[string][]uuid.UUID // nodes that have a name of the query, by its key
	// frequency is how many nodes have a term of the query, of those that were read, and
	// frequent the most of them.
	frequency map[string]int64
	frequent  int64
	order     []scoredNode // of scores, best first; see ranked
	sorted    bool         // order is that of scores
}

// searchTerm is a term of a query in a workspace.
type searchTerm struct {
	text   string
	nodes  int64   // that have it
	weight float64 // what it adds to a score at most, by 1/(k1+1)
	kept   bool    // its postings are in memory
	// listed says that the term has a champion list, which has size postings.
	listed bool
	list   championList
	size   int64
}

func (s *textSearch) run(ctx context.Context, q lexical.Query, names int) (found retrieval.TextFindings, err error) {
	terms, err := s.weigh(ctx, q, max(names, namesakes+1))
	if err != nil || len(terms) == 0 {
		return found, err
	}
	if !unfiltered(s.filter) {
		few, more, err := graphread.Matching(ctx, s.tx, s.workspace, s.filter, s.most.few)
		if err != nil || len(few) == 0 && !more {
			return found, err
		}
		s.few, s.bounded = graphread.IDArray(few), !more
	}
	if err := s.rank(ctx, terms); err != nil {
		return found, err
	}
	called := s.calls(q)
	found.Named = certain(called, names)
	s.raise(called, q)
	found.Hits, err = s.best(ctx)
	found.Cut = s.cut
	return found, err
}

// rank scores the nodes that the terms find.
func (s *textSearch) rank(ctx context.Context, terms []searchTerm) error {
	s.note(terms)
	arrange(terms)
	if s.selective() {
		first, rest := s.split(terms, s.most.first)
		if err := s.gather(ctx, first); err != nil {
			return err
		}
		if len(rest) == 0 || atMost(rest) <= s.threshold() {
			return s.lookUp(ctx, first, rest)
		}
		clear(s.scores)
		s.listed, s.has, s.cut, s.sorted = nil, nil, retrieval.TextWhole, false
		arrange(terms) // what was read is in memory now
	}
	first, rest := s.split(terms, s.most.postings)
	if err := s.gather(ctx, first); err != nil {
		return err
	}
	return s.lookUp(ctx, first, rest)
}

// selective reports that whatever is read of postings passes the filter, except for what
// was deleted just now.
func (s *textSearch) selective() bool { return s.bounded || unfiltered(s.filter) }

// split returns the terms whose nodes are candidates, and those that are only looked up
// for candidates: the rarest come first, the first always. Of lists no more than
// searchLists are read: what only the most frequent words are heavy in is seldom best.
func (s *textSearch) split(terms []searchTerm, few int64) (first, rest []searchTerm) {
	read, lists, enough := int64(0), 0, searchShare*atMost(terms)
	for i, t := range terms {
		read += s.cost(t)
		listed := s.readsList(&terms[i])
		if listed {
			lists++
		}
		if i > 0 && (read > s.most.postings || read > few && atMost(terms[i:]) <= enough ||
			listed && (lists > searchLists || lists == 1 && read > s.most.first)) {
			return terms[:i], terms[i:]
		}
	}
	return terms, nil
}

// atMost is what terms can add to a score.
func atMost(terms []searchTerm) (sum float64) {
	for _, t := range terms {
		sum += t.weight * (bm25K1 + 1)
	}
	return sum
}

// threshold is a score that enough candidates have, whatever is added to it: twice as
// many as are wanted, because some may have been deleted just now.
func (s *textSearch) threshold() float64 {
	if at := 2*s.limit - 1; s.selective() && at < len(s.scores) {
		return s.ranked()[at].score
	}
	return 0
}

// best returns the best that stand and pass the filter.
func (s *textSearch) best(ctx context.Context) (hits []retrieval.TextHit, err error) {
	rest, first := s.ranked(), 2*s.limit
	if s.selective() {
		first = s.limit + s.limit/4 // nothing but what was deleted just now does not pass
	}
	for most := first; len(rest) > 0; most *= 8 { // mostly the first look is enough
		portion := rest[:min(most, len(rest))]
		rest = rest[len(portion):]
		ids := make([]uuid.UUID, len(portion))
		for i, n := range portion {
			ids[i] = n.id
		}
		passed, err := graphread.Passing(ctx, s.tx, s.workspace, ids, s.filter)
		if err != nil {
			return nil, err
		}
		pass := make(map[uuid.UUID]bool, len(passed))
		for _, id := range passed {
			pass[id] = true
		}
		for _, n := range portion {
			if !pass[n.id] {
				continue
			}
			if hits = append(hits, retrieval.TextHit{
				Node: n.id, Score: n.score, Share: (n.score - s.raised[n.id]) / s.asked,
			}); len(hits) == s.limit {
				return hits, nil
			}
		}
	}
	return hits, nil
}
