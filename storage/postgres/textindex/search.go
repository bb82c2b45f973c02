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

// Parameters of BM25, as in Robertson and Zaragoza ("The Probabilistic Relevance Framework: BM25 and
// Beyond", 2009) and in Lucene.
const (
	bm25K1 = 1.2
	bm25B  = 0.75
)

// Limits of a text search, independent of the size of the workspace.
const (
	// maxFilterMatches is the maximum number of nodes that pass a filter for which these nodes are
	// read first and only they are scored.
	maxFilterMatches = 5_000
	// searchNewest is the number of the newest postings that are read besides a champion list,
	// because nodes with equal scores are sorted newest first.
	searchNewest = 300
	// searchListed: one in searchListed of the nodes found in champion lists, the best ones, is
	// looked up in the terms by which it was not found.
	searchListed = 16
	// searchLists is the maximum number of champion lists that are read.
	searchLists = 2
	// searchTerms is the maximum number of terms of a query that are used: the rarest.
	searchTerms = 32
	// searchFirst is the number of postings that are read to find candidates, beginning with the
	// rarest terms. The other terms, the frequent ones, are only looked up for candidates, because
	// they can rarely bring another node among the best. If they could, searchPostings are read.
	searchFirst    = 10_000
	searchPostings = 20_000
	// searchShare is the maximum share of the score that the other terms may add, so that they are
	// unlikely to bring another node among the best.
	searchShare = 0.12
	// searchLookups is the maximum number of these lookups.
	searchLookups = 8_000
	// searchCandidates is the maximum number of best nodes of a query that are used.
	searchCandidates = 1_000
	// The last word of a query may be the prefix of up to prefixTerms terms: the most frequent of
	// the first prefixSeen with that prefix.
	prefixTerms = 32
	prefixSeen  = 1_000
	// prefixWeight is the weight of terms that begin with a word that is a term itself.
	prefixWeight = 0.5
	// nameBoost is the share of the best score that is added to the nodes with a name in the query,
	// divided among those with the same name. A name of more than maxNamesakes nodes is ignored.
	nameBoost    = 0.5
	maxNamesakes = 20
)

// searchLimits are the limits that tests can lower.
type searchLimits struct {
	first, postings, lookups   int64
	maxMatches                 int
	minChampions, maxChampions int64
	newest                     int64
	unlisted                   bool // do not use champion lists
	checkInterval              int  // see championCheckInterval
}

func defaultSearchLimits() searchLimits {
	return searchLimits{
		first: searchFirst, postings: searchPostings, lookups: searchLookups, maxMatches: maxFilterMatches,
		minChampions: minChampions, maxChampions: maxChampions, newest: searchNewest, checkInterval: championCheckInterval,
	}
}

// SearchText returns the live nodes that pass the filter and match a query best by BM25 (k1 1.2,
// b 0.75), best first, at most limit. It also returns those whose name is in the query, the most
// certain first, at most names. Their scores are raised among the others, too.
//
// The filter does not reduce the quality of the results, with one exception: if the query has only
// words of more than 20,000 nodes each and more than 5,000 nodes pass the filter, only the postings
// of these words with the highest impacts are read and ranked.
func (db *Store) SearchText(
	ctx context.Context, workspace uuid.UUID, q lexical.Query, f retrieval.Filter, limit, names int,
) (found retrieval.TextFindings, err error) {
	if len(q.Terms) == 0 || limit <= 0 {
		return found, nil
	}
	err = db.root.InReadTx(ctx, func(tx pgx.Tx) error {
		s := &textSearch{
			tx: tx, workspace: workspace, filter: f, limit: limit, limits: db.limits, cache: db.cache,
			view:   cacheView{cache: db.cache.workspace(workspace)},
			scores: map[uuid.UUID]float64{}, boosts: map[uuid.UUID]float64{},
		}
		found, err = s.run(ctx, q, names)
		return err
	})
	if err != nil {
		return retrieval.TextFindings{}, postgres.Classify(fmt.Errorf("searching texts: %w", err))
	}
	return found, nil
}

// textSearch is the state of a search.
type textSearch struct {
	tx        pgx.Tx
	workspace uuid.UUID
	filter    retrieval.Filter
	limit     int
	limits    searchLimits
	cache     *textCache
	view      cacheView

	nodes           float64 // number of nodes of the workspace
	average         float64 // average length of their texts
	matches         postgres.UUIDs
	matchesComplete bool // whether matches has all nodes that pass the filter
	scores          map[uuid.UUID]float64
	listed          []searchTerm             // terms whose champion lists were read
	foundBy         map[uuid.UUID]uint64     // the terms of listed by which a node was found, a bit each
	cut             retrieval.TextTruncation // which postings of the terms were read
	boosts          map[uuid.UUID]float64    // part of a score that is for a name
	queryWeight     float64                  // sum of the weights of the terms of the query
	names           map[string][]uuid.UUID   // nodes that have a name of the query, by its key
	// frequency has the number of nodes of the terms of the query that were read. maxFrequency is
	// the greatest of them.
	frequency    map[string]int64
	maxFrequency int64
	order        []scoredNode // scores, best first; see ranked
	sorted       bool         // whether order agrees with scores
}

// searchTerm is a term of a query, with its statistics in a workspace.
type searchTerm struct {
	text   string
	nodes  int64   // number of nodes that have it
	weight float64 // maximum that it adds to a score, divided by k1+1
	cached bool    // whether its postings are in the text cache
	// listed reports whether the term has a champion list. The list has size postings.
	listed bool
	list   championList
	size   int64
}

func (s *textSearch) run(ctx context.Context, q lexical.Query, names int) (found retrieval.TextFindings, err error) {
	terms, err := s.weigh(ctx, q, max(names, maxNamesakes+1))
	if err != nil || len(terms) == 0 {
		return found, err
	}
	if !s.filter.IsEmpty() {
		matches, more, err := graphread.Matching(ctx, s.tx, s.workspace, s.filter, s.limits.maxMatches)
		if err != nil || len(matches) == 0 && !more {
			return found, err
		}
		s.matches, s.matchesComplete = postgres.IDArray(matches), !more
	}
	if err := s.rank(ctx, terms); err != nil {
		return found, err
	}
	named := s.matchNames(q)
	found.Named = mostCertain(named, names)
	s.boost(named, q)
	found.Hits, err = s.best(ctx)
	found.Truncation = s.cut
	return found, err
}

// rank scores the nodes that have some of the terms.
func (s *textSearch) rank(ctx context.Context, terms []searchTerm) error {
	s.markCached(terms)
	sortTerms(terms)
	if s.selective() {
		primary, secondary := s.split(terms, s.limits.first)
		if err := s.gather(ctx, primary); err != nil {
			return err
		}
		if len(secondary) == 0 || maxScore(secondary) <= s.threshold() {
			return s.lookUp(ctx, primary, secondary)
		}
		clear(s.scores)
		s.listed, s.foundBy, s.cut, s.sorted = nil, nil, retrieval.TextComplete, false
		sortTerms(terms) // the terms that were read are cached now
	}
	primary, secondary := s.split(terms, s.limits.postings)
	if err := s.gather(ctx, primary); err != nil {
		return err
	}
	return s.lookUp(ctx, primary, secondary)
}

// selective reports whether every node that is read passes the filter, except for nodes that were
// deleted recently and are still in the index.
func (s *textSearch) selective() bool { return s.matchesComplete || s.filter.IsEmpty() }

// split splits sorted terms into primary ones, whose nodes are candidates, and secondary ones, which
// are only looked up for candidates. The first term is always primary. At most searchLists champion
// lists are read, because a node that matches only the most frequent words well is rarely among the
// best.
func (s *textSearch) split(terms []searchTerm, target int64) (primary, secondary []searchTerm) {
	cost, lists, enough := int64(0), 0, searchShare*maxScore(terms)
	for i, t := range terms {
		cost += s.cost(t)
		listed := s.usesChampionList(&terms[i])
		if listed {
			lists++
		}
		if i > 0 && (cost > s.limits.postings || cost > target && maxScore(terms[i:]) <= enough ||
			listed && (lists > searchLists || lists == 1 && cost > s.limits.first)) {
			return terms[:i], terms[i:]
		}
	}
	return terms, nil
}

// maxScore returns the maximum that terms can add to a score.
func maxScore(terms []searchTerm) (sum float64) {
	for _, t := range terms {
		sum += t.weight * (bm25K1 + 1)
	}
	return sum
}

// threshold returns a score that enough candidates reach or exceed: twice as many as the limit,
// because some may have been deleted recently.
func (s *textSearch) threshold() float64 {
	if index := 2*s.limit - 1; s.selective() && index < len(s.scores) {
		return s.ranked()[index].score
	}
	return 0
}

// best returns the best nodes that are live and pass the filter.
func (s *textSearch) best(ctx context.Context) (hits []retrieval.TextHit, err error) {
	remaining, size := s.ranked(), 2*s.limit
	if s.selective() {
		size = s.limit + s.limit/4 // only recently deleted nodes do not pass
	}
	for batchSize := size; len(remaining) > 0; batchSize *= 8 { // mostly the first batch is sufficient
		batch := remaining[:min(batchSize, len(remaining))]
		remaining = remaining[len(batch):]
		ids := make([]uuid.UUID, len(batch))
		for i, n := range batch {
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
		for _, n := range batch {
			if !pass[n.id] {
				continue
			}
			if hits = append(hits, retrieval.TextHit{
				Node: n.id, Score: n.score, NormalisedScore: (n.score - s.boosts[n.id]) / s.queryWeight,
			}); len(hits) == s.limit {
				return hits, nil
			}
		}
	}
	return hits, nil
}
