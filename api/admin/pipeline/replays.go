package pipeline

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/services/pipelineadmin"
	"github.com/livegraph/livegraph/storage/postgres/jobs"
)

// replayBody specifies a replay; see pipelineadmin.ReplayRequest.
type replayBody struct {
	Topic            *string          `json:"topic"`
	FromStart        *bool            `json:"fromStart"`
	FromTime         *string          `json:"fromTime"`
	FromOffsets      map[string]int64 `json:"fromOffsets"` // by partition
	ToTime           *string          `json:"toTime"`
	ToOffsets        map[string]int64 `json:"toOffsets"`
	Partitions       []int32          `json:"partitions"`
	WorkspaceID      *string          `json:"workspaceId"`
	MaxRowsPerSecond *int64           `json:"maxRowsPerSecond"`
	DryRun           *bool            `json:"dryRun"`
}

func (b *replayBody) request(c *request.Check) pipelineadmin.ReplayRequest {
	c.Required("topic", b.Topic != nil)
	return pipelineadmin.ReplayRequest{
		Topic: valueOf(b.Topic), FromStart: valueOf(b.FromStart), FromTime: readTime(c, "fromTime", b.FromTime),
		FromOffsets: readOffsets(c, "fromOffsets", b.FromOffsets),
		ToTime:      readTime(c, "toTime", b.ToTime), ToOffsets: readOffsets(c, "toOffsets", b.ToOffsets),
		Partitions: b.Partitions, Workspace: readID(c, "workspaceId", b.WorkspaceID), MaxRows: b.MaxRowsPerSecond,
	}
}

// readOffsets parses offsets by partition.
func readOffsets(c *request.Check, field string, body map[string]int64) map[int32]int64 {
	if body == nil {
		return nil
	}
	list := make(map[int32]int64, len(body))
	for text, offset := range body {
		partition, err := strconv.ParseInt(text, 10, 32)
		if err != nil || partition < 0 || strconv.FormatInt(partition, 10) != text {
			c.Fail(field, fmt.Sprintf("has %q, which is no number of a partition", text))
		}
		list[int32(partition)] = offset
	}
	return list
}

// plannedReplay describes what a replay would read.
type plannedReplay struct {
	Topic      string                 `json:"topic"`
	Consumer   string                 `json:"consumer"`
	Records    int64                  `json:"records"`
	Partitions []jobs.ReplayPartition `json:"partitions"`
}

// startReplay queues a replay. With dryRun it only returns what the replay would read.
func (a *api) startReplay(w http.ResponseWriter, r *http.Request) error {
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	var body replayBody
	if err := request.JSON(r, &body); err != nil {
		return err
	}
	var c request.Check
	req := body.request(&c)
	if err := c.Err(); err != nil {
		return err
	}
	req.RequestedBy = request.RequesterOf(r.Context())
	if valueOf(body.DryRun) {
		job, err := a.Pipeline.PlanReplay(r.Context(), req)
		if err != nil {
			return err
		}
		reply.Data(w, r, http.StatusOK, plannedReplay{
			Topic: job.Topic, Consumer: job.Consumer, Records: job.Records, Partitions: job.Partitions,
		})
		return nil
	}
	job, err := a.Pipeline.StartReplay(r.Context(), req)
	if err != nil {
		return err
	}
	request.NotesOf(r.Context()).AddResult(job.ID.String())
	w.Header().Set("Location", replaysPath+"/"+job.ID.String())
	reply.Data(w, r, http.StatusCreated, job)
	return nil
}

func (a *api) replays(w http.ResponseWriter, r *http.Request) error {
	p := request.Query(r)
	limit, offset := p.Page()
	if err := p.Err(); err != nil {
		return err
	}
	list, total, err := a.Pipeline.Replays(r.Context(), offset, limit)
	if err != nil {
		return err
	}
	reply.List(w, r, list, reply.PageMeta(total, limit, offset, len(list)))
	return nil
}

func (a *api) replay(w http.ResponseWriter, r *http.Request) error {
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	id, err := request.PathID(r, "id", "replay")
	if err != nil {
		return err
	}
	job, err := a.Pipeline.Replay(r.Context(), id)
	if err != nil {
		return err
	}
	reply.Data(w, r, http.StatusOK, job)
	return nil
}

// cancelReplay requests the cancellation of a replay and returns its state.
func (a *api) cancelReplay(w http.ResponseWriter, r *http.Request) error {
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	id, err := request.PathID(r, "id", "replay")
	if err != nil {
		return err
	}
	job, err := a.Pipeline.CancelReplay(r.Context(), id)
	if err != nil {
		return err
	}
	reply.Data(w, r, http.StatusOK, job)
	return nil
}
