package pipeline

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/go-chi/chi/v5"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/services/pipelineadmin"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres/jobs"
)

// deadLetterTopics returns the names of topics that a filter accepts: the dead letter topics
// and the topics of the original records.
func deadLetterTopics() (names []string) {
	for _, label := range pipelineadmin.DeadLetterTopics() {
		origin, _ := kafka.IsDeadLetters(label)
		names = append(names, origin, label)
	}
	return names
}

var deadLetterStates = []string{
	string(jobs.DeadLetterOpen), string(jobs.DeadLetterRedriven), string(jobs.DeadLetterDiscarded),
}

// deadLetters lists the newest dead letters of a filter. Each request scans all dead letters, so
// the offset is limited: a narrower filter is better than more pages.
func (a *api) deadLetters(w http.ResponseWriter, r *http.Request) error {
	p := request.Query(r)
	f := pipelineadmin.DeadLetterFilter{
		Topics: p.List("topic"), Workspace: p.UUID("workspaceId"), From: p.Time("from"), To: p.Time("to"),
	}
	for _, name := range f.Topics {
		if known := deadLetterTopics(); !slices.Contains(known, name) {
			p.Fail("topic", "is no topic that has dead letters", known...)
		}
	}
	for _, state := range p.List("state") {
		if !slices.Contains(deadLetterStates, state) {
			p.Fail("state", "is not one of the allowed values", deadLetterStates...)
		}
		f.States = append(f.States, jobs.DeadLetterState(state))
	}
	f.ReasonContains, _ = p.String("reason")
	limit, offset := p.Page()
	if offset > pipelineadmin.MaxListLimit-limit {
		p.Fail(
			"offset", fmt.Sprintf("must not lead beyond %d letters: narrow the filter, as by to", pipelineadmin.MaxListLimit),
		)
	}
	if f.From != nil && f.To != nil && !f.From.Before(*f.To) {
		p.Fail("to", "must be after from")
	}
	if err := p.Err(); err != nil {
		return err
	}
	list, err := a.Pipeline.DeadLetters(r.Context(), f, offset+limit, nil)
	if err != nil {
		return asQueryError(err)
	}
	page := list.Letters[min(offset, len(list.Letters)):]
	meta := reply.PageMeta(list.Matched, limit, offset, len(page))
	truncated := list.Skipped > 0
	meta.Truncated = &truncated
	reply.List(w, r, page, meta)
	return nil
}

// deadLetterAnswer is a dead letter with its original key and value, in base64.
type deadLetterAnswer struct {
	pipelineadmin.DeadLetterDetails
	Key   []byte `json:"key"`
	Value []byte `json:"value"`
}

// deadLetter returns one dead letter, decoded.
func (a *api) deadLetter(w http.ResponseWriter, r *http.Request) error {
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	record, err := parseRecordRef(chi.URLParam(r, "topic"), chi.URLParam(r, "partition"), chi.URLParam(r, "offset"))
	if err != nil {
		return err
	}
	shown, err := a.Pipeline.ShowDeadLetter(r.Context(), record)
	if err != nil {
		return err
	}
	reply.Data(w, r, http.StatusOK, deadLetterAnswer{DeadLetterDetails: shown, Key: shown.Key, Value: shown.Value})
	return nil
}

// parseRecordRef parses a record reference in a path. It returns a NotFound error if the
// reference is not valid.
func parseRecordRef(topic, partition, offset string) (pipelineadmin.RecordRef, error) {
	p, err1 := strconv.ParseInt(partition, 10, 32)
	o, err2 := strconv.ParseInt(offset, 10, 64)
	if errors.Join(err1, err2) != nil || p < 0 || o < 0 || !slices.Contains(deadLetterTopics(), topic) {
		return pipelineadmin.RecordRef{}, fault.New(fault.NotFound, "No such dead letter")
	}
	return pipelineadmin.RecordRef{Topic: topic, Partition: int32(p), Offset: o}, nil
}
