package chat

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/retrieval/openai"
)

// allEvents returns the data of all events of a stream, and the error that ends it.
func allEvents(in io.Reader) (list []string, err error) {
	for stream := newEvents(in); ; {
		data, err := stream.next()
		if err != nil {
			return list, err
		}
		list = append(list, string(data))
	}
}

// specified returns the data of the events as the HTML standard defines them, from the whole stream at once.
func specified(stream string) (list []string) {
	stream = strings.TrimPrefix(stream, "\ufeff")
	stream = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(stream)
	var data []string
	lines := strings.Split(stream, "\n")
	for _, line := range lines[:len(lines)-1] { // the last one has no end
		if line == "" {
			if joined := strings.Join(data, "\n"); joined != "" {
				list = append(list, joined)
			}
			data = nil
			continue
		}
		if name, value, _ := strings.Cut(line, ":"); name == "data" {
			data = append(data, strings.TrimPrefix(value, " "))
		}
	}
	return list
}

// FuzzEvents checks that any stream is read as the standard specifies, however its bytes arrive, and that any response
// results in a bounded text or in a fault.
func FuzzEvents(f *testing.F) {
	const part = `data: {"choices":[{"index":0,"delta":{"content":"It runs."},"finish_reason":null}]}`
	for _, stream := range []string{
		part + "\n\n" + `data: {"choices":[{"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n",
		"\ufeff: wait\r\n\r\nevent: x\rid: 1\r\r" + part + "\r\r\ndata:\n\ndata\n\n", "data: a\ndata: b\n\ndata: c",
		`{"choices":[{"message":{"content":"It runs."},"finish_reason":"length"}]}`, `{"error":{"code":"x y"}}`, "", "\r",
		"data: [DONE]\n\n", "data: {\"choices\":[{\"delta\":{\"refusal\":\"no\"}}]}\n\n", "data:\ndata:\n\n",
	} {
		f.Add([]byte(stream))
	}
	c, err := openai.New(openai.Options{Name: "the chat model", URL: "https://a.example/v1"})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, stream []byte) {
		if len(stream) > maxEvent {
			return
		}
		events, err := allEvents(bytes.NewReader(stream))
		require.ErrorIs(t, err, io.EOF)
		require.Equal(t, specified(string(stream)), events)
		again, _ := allEvents(iotest.OneByteReader(bytes.NewReader(stream)))
		require.Equal(t, events, again)

		for _, read := range []func(*text) error{
			func(r *text) error { return r.readStream(bytes.NewReader(stream), func() {}) },
			func(r *text) error { return r.readWhole(bytes.NewReader(stream)) },
		} {
			received := 0
			r := text{client: c, limit: 100, receive: func(part string) error {
				received += len(part)
				return nil
			}}
			if err := read(&r); err != nil {
				require.Contains(t, []fault.Kind{fault.BadGateway, fault.Invalid}, fault.KindOf(err), "%v", err)
				require.Less(t, len(err.Error()), 300)
			}
			require.LessOrEqual(t, r.content.Len(), 100)
			require.Equal(t, received, r.content.Len())
		}
	})
}

func TestAnEventIsReadBeforeTheNextByteArrives(t *testing.T) {
	reader, writer := io.Pipe()
	go func() {
		_, _ = writer.Write([]byte("data: one\r\n\r\n"))
		_, _ = writer.Write([]byte("data: two\r\r"))
	}()
	stream := newEvents(reader)
	for _, want := range []string{"one", "two"} {
		got, err := stream.next() // the pipe is not closed: reading on would block
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	_ = writer.CloseWithError(errors.New("end"))
}
