package pipeline

import (
	"net/http"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/services/pipelineadmin"
	"github.com/livegraph/livegraph/storage/postgres/jobs"
)

// topic is a topic as it is shown.
type topic struct {
	pipelineadmin.Topic
	// DeadLetters counts those of a topic of dead letters by state; null: it is none.
	DeadLetters *letterCounts `json:"deadLetters"`
}

type letterCounts struct {
	Open      int64 `json:"open"`
	Redriven  int64 `json:"redriven"`
	Discarded int64 `json:"discarded"`
}

// topics lists all topics: there are as many as the version has.
func (a *api) topics(w http.ResponseWriter, r *http.Request) error {
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	found, err := a.Pipeline.Topics(r.Context())
	if err != nil {
		return err
	}
	counts, err := a.Pipeline.LetterCounts(r.Context())
	if err != nil {
		return err
	}
	list := make([]topic, len(found))
	for i, t := range found {
		list[i] = topic{Topic: t}
		if c, ok := counts[t.Topic]; ok {
			list[i].DeadLetters = &letterCounts{
				Open: c[jobs.LetterOpen], Redriven: c[jobs.LetterRedriven], Discarded: c[jobs.LetterDiscarded],
			}
		}
	}
	reply.List(w, r, list, reply.PageMeta(int64(len(list)), max(len(list), 1), 0, len(list)))
	return nil
}
