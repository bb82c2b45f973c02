package contract_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/retrieval/files"
	"github.com/livegraph/livegraph/test/contract"
)

const operatorsDocuments = "/admin" + documentsPath

// sendDocument sends a document as an operator.
func sendDocument(t *testing.T, o *contract.Operator, d documentInput) *contract.Answer {
	t.Helper()
	body, err := json.Marshal(map[string]any{"documents": []documentInput{d}})
	require.NoError(t, err)
	return o.Do(t, contract.Request{
		Method: http.MethodPost, Path: operatorsDocuments, Workspace: o.Server.Workspace.String(), Body: string(body),
	})
}

func TestAnOperatorUploadsReadsAndDeletesDocuments(t *testing.T) {
	t.Parallel()
	s, _ := startAdmin(t, (&contract.Commands{}).Group, contract.GraphReads)
	o := s.Login(t)
	request := func(method, path string) contract.Request {
		return contract.Request{Method: method, Path: operatorsDocuments + path, Workspace: s.Workspace.String()}
	}
	note := documentInput{"externalId": "a/note", "text": "Pump 7 is loud.", "tags": []string{"north"}}
	status := func(d documentInput) string {
		a := sendDocument(t, o, d)
		return decode[struct{ Documents []putResult }](t, a, http.StatusAccepted).Documents[0].Status
	}
	require.Equal(t, "created", status(note))
	require.Equal(t, "unchanged", status(note))
	require.Equal(t, "created", status(documentInput{
		"externalId": "handbook.pdf", "data": testFile(t, "handbook.pdf"), "contentType": files.PDF,
	}))

	count := func(query string) int {
		return len(decode[[]documentItem](t, o.Do(t, request(http.MethodGet, query)), http.StatusOK))
	}
	require.Equal(t, 2, count(""))
	require.Equal(t, 1, count("?tag=north"))
	require.Equal(t, 1, count("?externalId=handbook.pdf"))
	read := decode[documentItem](t, o.Do(t, request(http.MethodGet, "/a%2Fnote")), http.StatusOK)
	require.Equal(t, "a/note", read.ExternalID)

	remove := request(http.MethodDelete, "/"+read.ID)
	remove.Header = map[string]string{"Idempotency-Key": "one"}
	type deletion struct{ CommandID, Status string }
	deleted := decode[deletion](t, o.Do(t, remove), http.StatusOK)
	require.Equal(t, deleted, decode[deletion](t, o.Do(t, remove), http.StatusOK), "a repetition")
	require.Equal(t, 1, count(""))
	a := o.Do(t, contract.Request{
		Method: http.MethodPost, Path: operatorsExecute, Workspace: s.Workspace.String(),
		Body: `{"type":"UNDO","payload":{"commandId":"` + deleted.CommandID + `"}}`,
	})
	require.Equal(t, http.StatusOK, a.Status, "%s", a.Body)
	require.Equal(t, read.ID, decode[documentItem](t, o.Do(t, request(http.MethodGet, "/"+read.ID)), http.StatusOK).ID)
}

func TestAnOperatorsFilesHaveTheSameLimitsAsThoseOfAKey(t *testing.T) {
	t.Parallel()
	s, _ := startAdmin(t, (&contract.Commands{}).Group, contract.GraphReads)
	o := s.Login(t)
	for size, reason := range map[int]string{
		16 << 20:     "is not a PDF file, or is damaged", // it was received and read
		16<<20 + 512: "must have 1 to 16777216 bytes before base64",
	} {
		data := base64.StdEncoding.EncodeToString(make([]byte, size))
		a := sendDocument(t, o, documentInput{"externalId": "large", "data": data, "contentType": files.PDF})
		a.RequireFailure(t, http.StatusUnprocessableEntity, validation, "", map[string]any{
			"field": "documents[0].data", "reason": reason,
		})
	}
}
