package promql

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"net/http"
	"time"

	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

const (
	readType     = "application/x-protobuf"
	streamedType = "application/x-streamed-protobuf; proto=prometheus.ChunkedReadResponse"
	// maxRead is the maximum size of a remote read request, decompressed.
	maxRead = 1 << 20
	// maxReadQueries is the maximum number of queries of a request.
	maxReadQueries = 100
	// maxReadSamples is the maximum number of samples of an answer that is not streamed.
	maxReadSamples = 1_000_000
	// frameBytes is the size at which a frame of a stream ends. Prometheus accepts 50 MB, and sends 1 MB.
	frameBytes = 1 << 20
)

// remoteRead answers a remote read of Prometheus, with samples or with a stream of chunks.
func (a *api) remoteRead(w http.ResponseWriter, r *http.Request) error {
	read, err := parseRead(w, r)
	if err != nil {
		return err
	}
	streamed, err := isStreamed(read.AcceptedResponseTypes)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), a.QueryTimeout)
	defer cancel()
	workspace := request.PrincipalOf(r.Context()).Workspace
	querier, err := a.Store.Query(workspace, time.Now()).Querier(0, 0)
	if err != nil {
		return err
	}
	defer func() { _ = querier.Close() }()
	sets, err := a.selectSets(ctx, querier, read.Queries)
	if err != nil {
		return a.options.PublicError(err)
	}
	if streamed {
		return streamChunks(w, sets)
	}
	return writeSamples(w, sets)
}

// parseRead parses and checks a request.
func parseRead(w http.ResponseWriter, r *http.Request) (*prompb.ReadRequest, error) {
	body, release, err := request.Body(w, r, maxRead, request.Types(readType), request.DefaultEncoding("snappy"))
	if err != nil {
		return nil, err
	}
	defer release()
	var read prompb.ReadRequest
	if err := read.Unmarshal(body); err != nil {
		return nil, fault.New(fault.Malformed, "the body is not a ReadRequest of Prometheus").Because(err)
	}
	if len(read.Queries) > maxReadQueries {
		return nil, fault.Newf(fault.Malformed, "the request must have at most %d queries", maxReadQueries)
	}
	return &read, nil
}

// isStreamed reports whether the client prefers chunks to samples.
func isStreamed(accepted []prompb.ReadRequest_ResponseType) (bool, error) {
	for _, kind := range accepted {
		switch kind {
		case prompb.ReadRequest_STREAMED_XOR_CHUNKS:
			return true, nil
		case prompb.ReadRequest_SAMPLES:
			return false, nil
		}
	}
	if len(accepted) > 0 {
		return false, fault.New(
			fault.Malformed, "none of the accepted response types is supported: SAMPLES, STREAMED_XOR_CHUNKS",
		)
	}
	return false, nil
}

// selectSets reads the series of each query, sorted by labels.
func (a *api) selectSets(
	ctx context.Context, querier storage.Querier, queries []*prompb.Query,
) (sets []storage.SeriesSet, err error) {
	leave, err := a.places.acquire(ctx, request.PrincipalOf(ctx).Workspace)
	if err != nil {
		return nil, err
	}
	defer leave()
	for _, q := range queries {
		matchers, err := readMatchers(q.Matchers)
		if err != nil {
			return nil, err
		}
		hints := &storage.SelectHints{Start: q.StartTimestampMs, End: q.EndTimestampMs}
		set := querier.Select(ctx, true, hints, matchers...)
		if err := set.Err(); err != nil {
			return nil, err
		}
		sets = append(sets, set)
	}
	return sets, nil
}

func readMatchers(list []*prompb.LabelMatcher) (matchers []*labels.Matcher, err error) {
	types := map[prompb.LabelMatcher_Type]labels.MatchType{
		prompb.LabelMatcher_EQ: labels.MatchEqual, prompb.LabelMatcher_NEQ: labels.MatchNotEqual,
		prompb.LabelMatcher_RE: labels.MatchRegexp, prompb.LabelMatcher_NRE: labels.MatchNotRegexp,
	}
	for _, m := range list {
		kind, known := types[m.Type]
		if !known {
			return nil, fault.New(fault.Malformed, "a matcher has an unknown type")
		}
		matcher, err := labels.NewMatcher(kind, m.Name, m.Value)
		if err != nil {
			return nil, fault.Newf(fault.Malformed, "the matcher of %q is not valid: %v", m.Name, err)
		}
		matchers = append(matchers, matcher)
	}
	return matchers, nil
}

// writeSamples answers with all samples in one message.
func writeSamples(w http.ResponseWriter, sets []storage.SeriesSet) error {
	var answer prompb.ReadResponse
	total := 0
	for _, set := range sets {
		result := &prompb.QueryResult{}
		for set.Next() {
			series := &prompb.TimeSeries{Labels: prompb.FromLabels(set.At().Labels(), nil)}
			appendSamples(series, set.At().Iterator(nil))
			if total += len(series.Samples) + len(series.Histograms); total > maxReadSamples {
				return fault.Newf(fault.Invalid, "The answer has more than %d samples: ask for a shorter range or fewer series, "+
					"or accept STREAMED_XOR_CHUNKS", maxReadSamples)
			}
			result.Timeseries = append(result.Timeseries, series)
		}
		answer.Results = append(answer.Results, result)
	}
	message, err := answer.Marshal()
	if err != nil {
		return fmt.Errorf("encoding samples: %w", err)
	}
	w.Header().Set("Content-Type", readType)
	w.Header().Set("Content-Encoding", "snappy")
	_, _ = w.Write(snappy.Encode(nil, message)) // on an error the client has disconnected
	return nil
}

// appendSamples appends the samples of an iterator, and its native histograms.
func appendSamples(series *prompb.TimeSeries, it chunkenc.Iterator) {
	for kind := it.Next(); kind != chunkenc.ValNone; kind = it.Next() {
		switch kind {
		case chunkenc.ValHistogram:
			t, h := it.AtHistogram(nil)
			series.Histograms = append(series.Histograms, prompb.FromIntHistogram(t, h))
		case chunkenc.ValFloatHistogram:
			t, h := it.AtFloatHistogram(nil)
			series.Histograms = append(series.Histograms, prompb.FromFloatHistogram(t, h))
		default:
			t, v := it.At()
			series.Samples = append(series.Samples, prompb.Sample{Timestamp: t, Value: v})
		}
	}
}

// chunkTypes are the types of chunks in a stream.
var chunkTypes = map[chunkenc.Encoding]prompb.Chunk_Encoding{
	chunkenc.EncXOR: prompb.Chunk_XOR, chunkenc.EncHistogram: prompb.Chunk_HISTOGRAM,
	chunkenc.EncFloatHistogram: prompb.Chunk_FLOAT_HISTOGRAM,
}

// streamChunks answers with a stream of frames, each with the chunks of one series.
func streamChunks(w http.ResponseWriter, sets []storage.SeriesSet) error {
	w.Header().Set("Content-Type", streamedType)
	w.WriteHeader(http.StatusOK)
	frames := frameWriter{ResponseWriter: w}
	for i, set := range sets {
		for set.Next() {
			if err := frames.writeSeries(i, set.At()); err != nil {
				return nil //nolint:nilerr // the client has disconnected
			}
		}
	}
	return nil
}

// frameWriter writes frames: the length, the CRC-32 (Castagnoli) and the bytes of a message.
type frameWriter struct {
	http.ResponseWriter
	buffer []byte
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// writeSeries writes the chunks of a series. A series of many chunks has several frames.
func (f *frameWriter) writeSeries(query int, series storage.Series) error {
	message := prompb.ChunkedReadResponse{QueryIndex: int64(query), ChunkedSeries: []*prompb.ChunkedSeries{{
		Labels: prompb.FromLabels(series.Labels(), nil),
	}}}
	out := message.ChunkedSeries[0]
	size := 0
	it := storage.NewSeriesToChunkEncoder(series).Iterator(nil)
	for it.Next() {
		meta := it.At()
		out.Chunks = append(out.Chunks, prompb.Chunk{
			MinTimeMs: meta.MinTime, MaxTimeMs: meta.MaxTime, Type: chunkTypes[meta.Chunk.Encoding()], Data: meta.Chunk.Bytes(),
		})
		if size += len(meta.Chunk.Bytes()); size < frameBytes {
			continue
		}
		if err := f.write(&message); err != nil {
			return err
		}
		out.Chunks, size = nil, 0
	}
	if err := it.Err(); err != nil || len(out.Chunks) == 0 {
		return err
	}
	return f.write(&message)
}

func (f *frameWriter) write(message *prompb.ChunkedReadResponse) error {
	encoded, err := message.Marshal()
	if err != nil {
		return err
	}
	f.buffer = binary.AppendUvarint(f.buffer[:0], uint64(len(encoded)))
	f.buffer = binary.BigEndian.AppendUint32(f.buffer, crc32.Checksum(encoded, castagnoli))
	f.buffer = append(f.buffer, encoded...)
	_, err = f.Write(f.buffer)
	return err
}
