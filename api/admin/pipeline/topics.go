package pipeline

import (
	"net/http"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/services/pipelineadmin"
	"github.com/livegraph/livegraph/storage/postgres/jobs"
)

// topic is a topic in responses.
type topic struct {
	pipelineadmin.Topic
	// DeadLetters are the counts of a dead letter topic by state; null for other topics.
	DeadLetters *deadLetterCounts `json:"deadLetters"`
}

type deadLetterCounts struct {
	Open      int64 `json:"open"`
	Redriven  int64 `json:"redriven"`
	Discarded int64 `json:"discarded"`
}

// topics lists all topics. Their number is fixed, so there is no pagination.
func (a *api) topics(w http.ResponseWriter, r *http.Request) error {
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	found, err := a.Pipeline.Topics(r.Context())
	if err != nil {
		return err
	}
	counts, err := a.Pipeline.DeadLetterCounts(r.Context())
	if err != nil {
		return err
	}
	list := make([]topic, len(found))
	for i, t := range found {
		list[i] = topic{Topic: t}
		if c, ok := counts[t.Topic]; ok {
			list[i].DeadLetters = &deadLetterCounts{
				Open: c[jobs.DeadLetterOpen], Redriven: c[jobs.DeadLetterRedriven], Discarded: c[jobs.DeadLetterDiscarded],
			}
		}
	}
	reply.List(w, r, list, reply.PageMeta(int64(len(list)), max(len(list), 1), 0, len(list)))
	return nil
}
