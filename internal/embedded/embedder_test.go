package embedded_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/test/testenv"
)

// embeddings is a response of the embedder, successful or not.
type embeddings struct {
	status int
	header http.Header
	Data   []struct {
		Index     int
		Embedding json.RawMessage
	}
	Model string
	Usage struct {
		PromptTokens int `json:"prompt_tokens"`
		TotalTokens  int `json:"total_tokens"`
	}
	Error struct{ Message, Type, Param, Code string }
}

// call sends a request to the embedder, with the key of the address unless headers has
// another one.
func call(t testing.TB, address, method, path string, body io.Reader, headers ...string) embeddings {
	t.Helper()
	u, err := url.Parse(address)
	require.NoError(t, err)
	key, _ := u.User.Password()
	u.User, u.Path = nil, path
	req, err := http.NewRequestWithContext(t.Context(), method, u.String(), body)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+key)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Del(headers[i])
		if headers[i+1] != "" {
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	answer := embeddings{status: resp.StatusCode, header: resp.Header}
	require.NoError(t, json.Unmarshal(raw, &answer), "%s", raw)
	require.NotContains(t, string(raw), key)
	return answer
}

// embed returns the vectors of texts.
func embed(t testing.TB, address string, texts ...string) [][]float64 {
	t.Helper()
	body, err := json.Marshal(map[string]any{"model": embedded.EmbedderModel, "input": texts})
	require.NoError(t, err)
	answer := call(t, address, "POST", "/v1/embeddings", strings.NewReader(string(body)))
	require.Equal(t, http.StatusOK, answer.status, answer.Error.Message)
	require.Len(t, answer.Data, len(texts))
	vectors := make([][]float64, len(texts))
	for i, d := range answer.Data {
		require.Equal(t, i, d.Index)
		require.NoError(t, json.Unmarshal(d.Embedding, &vectors[i]))
		require.Len(t, vectors[i], embedded.EmbedderDimensions)
		require.InDelta(t, 1, dot(vectors[i], vectors[i]), 1e-5)
	}
	return vectors
}

func dot(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

func TestTheEmbedderComputesTheModelThatItNames(t *testing.T) {
	// The first numbers that sentence-transformers computes with the same model. The
	// tolerance is for the int8 weights.
	got := embed(t, testenv.Embedder(t), "This is an example sentence")[0]
	for i, want := range []float64{0.0677, 0.0635, 0.0487, 0.0793, 0.0374} {
		require.InDelta(t, want, got[i], 0.01)
	}
}

func TestParaphrasesWithoutACommonWordAreNear(t *testing.T) {
	vectors := embed(t, testenv.Embedder(t),
		"server is down", "the machine stopped responding",
		"the disk is almost full", "little storage space is left",
		"bread recipe with olives", "SERVER IS DOWN")
	require.Greater(t, dot(vectors[0], vectors[1]), 0.4)
	require.Greater(t, dot(vectors[2], vectors[3]), 0.4)
	require.Less(t, dot(vectors[0], vectors[4]), 0.15)
	require.Less(t, dot(vectors[2], vectors[4]), 0.15)
	require.InDelta(t, 1, dot(vectors[0], vectors[5]), 1e-6, "the model knows no case")
}

func TestAVectorDoesNotDependOnWhatIsComputedBesideIt(t *testing.T) {
	address := testenv.Embedder(t)
	texts := []string{"pump", "ü", "漢字 kanji", "🙂", strings.Repeat("long text ", 90)}
	for i := range 35 {
		texts = append(texts, fmt.Sprintf("sensor %d %s", i, strings.Repeat("reads temperature ", i)))
	}
	together := embed(t, address, texts...)
	var wg sync.WaitGroup
	alone := make([][]float64, len(texts))
	for i, text := range texts {
		wg.Go(func() { alone[i] = embed(t, address, text)[0] })
	}
	wg.Wait()
	for i := range texts {
		require.Equal(t, alone[i], together[i], texts[i])
	}
}

func TestWhatIsBeyond256TokensIsNotRead(t *testing.T) {
	address := testenv.Embedder(t)
	read := strings.Repeat("word ", 254) // and [CLS] and [SEP]
	vectors := embed(t, address, read, read+"pump broken", strings.Repeat("word ", 252)+"pump broken")
	require.Equal(t, vectors[0], vectors[1])
	require.Less(t, dot(vectors[0], vectors[2]), 0.9999)
	answer := call(t, address, "POST", "/v1/embeddings",
		strings.NewReader(fmt.Sprintf(`{"model": "all-MiniLM-L6-v2", "input": [%q, "one"]}`, read+read)))
	require.Equal(t, 256+3, answer.Usage.PromptTokens)
	require.Equal(t, 256+3, answer.Usage.TotalTokens)
	require.Equal(t, "all-MiniLM-L6-v2", answer.Model)
}

func TestVectorsInBase64AreTheSame(t *testing.T) {
	address := testenv.Embedder(t)
	want := embed(t, address, "pump")[0]
	answer := call(t, address, "POST", "/v1/embeddings", strings.NewReader(
		`{"model": "all-MiniLM-L6-v2", "input": "pump", "encoding_format": "base64", "dimensions": 384, "user": "u"}`))
	var text string
	require.NoError(t, json.Unmarshal(answer.Data[0].Embedding, &text))
	raw, err := base64.StdEncoding.DecodeString(text)
	require.NoError(t, err)
	require.Len(t, raw, 4*embedded.EmbedderDimensions)
	for i := range want {
		require.InDelta(t, want[i], math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:])), 1e-8)
	}
}

func TestTheEmbedderRefusesWhatIsWrongInOpenAIsForm(t *testing.T) {
	address := testenv.Embedder(t)
	input := func(json string) string { return `{"model": "all-MiniLM-L6-v2", "input": ` + json + `}` }
	for name, c := range map[string]struct {
		body         string
		status       int
		param, says  string
		code, method string
	}{
		"no JSON":    {body: `{"input": `, status: 400, says: "not JSON"},
		"not UTF-8":  {body: "{\"input\": \"\xff\"}", status: 400, says: "not JSON in UTF-8"},
		"deep":       {body: strings.Repeat("[", 100000), status: 400, says: "not JSON"},
		"a list":     {body: `[]`, status: 400, says: "not a JSON object"},
		"empty body": {body: ``, status: 400, says: "not JSON"},
		"another model": {
			body: `{"model": "gpt", "input": "a"}`, status: 404, param: "model", code: "model_not_found",
			says: "all-MiniLM-L6-v2",
		},
		"no model": {body: `{"input": "a"}`, status: 404, param: "model", says: "all-MiniLM-L6-v2"},
		"no input": {
			body: `{"model": "all-MiniLM-L6-v2"}`, status: 400, param: "input", says: "neither a text nor a list",
		},
		"no texts":         {body: input(`[]`), status: 400, param: "input", says: "neither a text nor a list"},
		"an object":        {body: input(`{}`), status: 400, param: "input", says: "neither a text nor a list"},
		"token ids":        {body: input(`[[1, 2]]`), status: 400, param: "input[0]", says: "not a text"},
		"a number":         {body: input(`["a", 7]`), status: 400, param: "input[1]", says: "not a text"},
		"an empty text":    {body: input(`["a", " \n"]`), status: 400, param: "input[1]", says: "empty"},
		"half a character": {body: input(`"\ud800"`), status: 400, param: "input", says: "not valid Unicode"},
		"a huge text": {
			body: input(`"` + strings.Repeat("a", 65537) + `"`), status: 400, param: "input", says: "65536 characters",
		},
		"too many texts": {
			body: input(`[` + strings.Repeat(`"a",`, 2048) + `"a"]`), status: 400, param: "input", says: "2048 texts",
		},
		"a huge body": {body: strings.Repeat(" ", 8<<20+1), status: 413, code: "request_too_large", says: "8388608 bytes"},
		"dimensions": {
			body: `{"model": "all-MiniLM-L6-v2", "input": "a", "dimensions": 256}`, status: 400, param: "dimensions",
			says: "384",
		},
		"format": {
			body: `{"model": "all-MiniLM-L6-v2", "input": "a", "encoding_format": "hex"}`, status: 400, param: "encoding_format",
			says: "base64",
		},
		"wrong method": {method: "GET", status: 405, code: "method_not_allowed", says: "POST"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.method == "" {
				c.method = "POST"
			}
			answer := call(t, address, c.method, "/v1/embeddings", strings.NewReader(c.body))
			require.Equal(t, c.status, answer.status)
			require.Equal(t, "invalid_request_error", answer.Error.Type)
			require.Equal(t, c.param, answer.Error.Param)
			require.Contains(t, answer.Error.Message, c.says)
			if c.code != "" {
				require.Equal(t, c.code, answer.Error.Code)
			}
		})
	}
	require.Equal(t, http.StatusNotFound, call(t, address, "GET", "/v1/chat", nil).status)
	require.Equal(t, http.StatusOK, call(t, address, "GET", "/v1/models", nil).status)
	embed(t, address, "it goes on")
}

// TestTheEmbedderAnswersWhatIsNotHTTPAndContinues sends requests that no valid client sends.
func TestTheEmbedderAnswersWhatIsNotHTTPAndContinues(t *testing.T) {
	address := testenv.Embedder(t)
	u, err := url.Parse(address)
	require.NoError(t, err)
	key, _ := u.User.Password()
	post := func(headers, body string) string {
		return "POST /v1/embeddings HTTP/1.1\r\nHost: e\r\nAuthorization: Bearer " + key + "\r\n" + headers + "\r\n" + body
	}
	for name, c := range map[string]struct {
		request string
		status  int
	}{
		"garbage":             {"\x16\x03\x01 hello\r\n\r\n", 400},
		"an unknown method":   {"BREW /v1/models HTTP/1.1\r\nHost: e\r\n\r\n", 501},
		"a long line":         {"GET /" + strings.Repeat("a", 70000) + " HTTP/1.1\r\n\r\n", 414},
		"many headers":        {"GET /health HTTP/1.1\r\n" + strings.Repeat("A: b\r\n", 200) + "\r\n", 431},
		"chunked":             {post("Transfer-Encoding: chunked\r\n", "0\r\n\r\n"), 411},
		"compressed":          {post("Content-Encoding: gzip\r\nContent-Length: 2\r\n", "{}"), 415},
		"two lengths":         {post("Content-Length: 2\r\nContent-Length: 3\r\n", "{}"), 400},
		"a negative length":   {post("Content-Length: -1\r\n", ""), 400},
		"a length of letters": {post("Content-Length: 0x2\r\n", "{}"), 400},
		"no body":             {post("", ""), 400},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", u.Host)
			require.NoError(t, err)
			defer conn.Close()
			require.NoError(t, conn.SetDeadline(time.Now().Add(waitTimeout)))
			_, err = io.WriteString(conn, c.request)
			require.NoError(t, err)
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			require.NoError(t, err)
			defer resp.Body.Close()
			require.Equal(t, c.status, resp.StatusCode)
			var answer embeddings
			require.NoError(t, json.NewDecoder(resp.Body).Decode(&answer))
			require.NotEmpty(t, answer.Error.Type)
			require.NotEmpty(t, answer.Error.Message)
		})
	}
	conn, err := net.Dial("tcp", u.Host)
	require.NoError(t, err)
	_, err = io.WriteString(conn, post("Content-Length: 1000\r\n", "{"))
	require.NoError(t, err)
	require.NoError(t, conn.Close(), "a body that ends early")
	embed(t, address, "it goes on")
}

func TestTheEmbedderWantsItsKeyForAllButItsHealth(t *testing.T) {
	address := testenv.Embedder(t)
	for _, header := range []string{"", "Bearer", "Bearer wrong", "Basic Og=="} {
		for _, path := range []string{"/v1/embeddings", "/v1/models", "/nowhere"} {
			answer := call(t, address, "GET", path, nil, "Authorization", header)
			require.Equal(t, http.StatusUnauthorized, answer.status)
			require.Equal(t, "invalid_api_key", answer.Error.Code)
			require.Equal(t, "Bearer", answer.header.Get("WWW-Authenticate"))
		}
		require.Equal(t, http.StatusOK, call(t, address, "GET", "/health", nil, "Authorization", header).status)
	}
}

func TestAQueryDoesNotWaitForPassages(t *testing.T) {
	address := testenv.Embedder(t)
	passages := make([]string, 60)
	for i := range passages {
		passages[i] = fmt.Sprintf("%d %s", i, strings.Repeat("passage about pumps ", 40))
	}
	loaded := make(chan struct{})
	go func() {
		defer close(loaded)
		embed(t, address, passages...)
	}()
	answered := 0
	for {
		embed(t, address, "which pump is broken?")
		select {
		case <-loaded:
			require.Greater(t, answered, 5, "queries waited for the passages")
			return
		default:
			answered++
		}
	}
}

func TestTheEmbedderRefusesMoreThanItsQueueAndDropsCancelledRequests(t *testing.T) {
	address := testenv.StoppableEmbedder(t).Address()
	body, err := json.Marshal(map[string]any{"model": embedded.EmbedderModel, "input": slices.Repeat(
		[]string{"a pump in the cellar"}, 2048,
	)})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	u, err := url.Parse(address)
	require.NoError(t, err)
	key, _ := u.User.Password()
	statuses := make(chan int, 6)
	for range cap(statuses) { // more than the queue holds
		go func() {
			req, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+u.Host+"/v1/embeddings", bytes.NewReader(body))
			req.Header.Set("Authorization", "Bearer "+key)
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				statuses <- 0
				return
			}
			defer resp.Body.Close()
			statuses <- resp.StatusCode
		}()
	}
	require.Equal(t, http.StatusServiceUnavailable, <-statuses, "the first answer is that of one too many")
	cancel()
	start := time.Now()
	again := `{"model": "` + embedded.EmbedderModel + `", "input": ["one", "two", "three", "four", "five", "six"]}`
	// A request in the queue that was full: its cancelled requests are removed after a moment.
	require.Eventually(t, func() bool {
		return call(t, address, "POST", "/v1/embeddings", strings.NewReader(again)).status == http.StatusOK
	}, waitTimeout, 20*time.Millisecond)
	t.Logf("the lane was free after %s", time.Since(start))
}

func TestAnEmbedderThatIsKilledComesBack(t *testing.T) {
	p := testenv.StoppableEmbedder(t)
	want := embed(t, p.Address(), "pump")
	pid := p.PID()
	require.NoError(t, p.Signal(syscall.SIGKILL))
	require.Eventually(t, func() bool { return p.PID() != 0 && p.PID() != pid }, waitTimeout, 50*time.Millisecond)
	require.Equal(t, want, embed(t, p.Address(), "pump"))
	require.EqualValues(t, 1, p.Restarts())
}

func TestAServerWhoseConnectionsAreAllTakenEndsInOrder(t *testing.T) {
	p := testenv.StoppableEmbedder(t)
	at, err := url.Parse(p.Address())
	require.NoError(t, err)
	answered := func() bool {
		conn, err := net.Dial("tcp", at.Host)
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		_, err = io.WriteString(conn, "GET /health HTTP/1.1\r\nHost: here\r\n\r\n")
		require.NoError(t, err)
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(500*time.Millisecond)))
		_, err = conn.Read(make([]byte, 1))
		return err == nil
	}
	kept := 0
	for answered() { // the connection stays open
		kept++
		require.LessOrEqual(t, kept, 128)
	}
	require.NoError(t, p.Stop(t.Context()))
}
