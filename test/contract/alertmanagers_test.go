package contract_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/storage/postgres/alerting"
	"github.com/livegraph/livegraph/test/contract"
)

func TestAlertmanagers(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	set := func(body string) *contract.Answer {
		return l.Do(t, contract.Request{Method: http.MethodPut, Path: "/api/alertmanagers", Body: body})
	}
	type list struct{ URLs []string }
	var found list
	l.Get(t, "/api/alertmanagers", &found)
	require.Empty(t, found.URLs)
	want := []string{"https://a.example.com", "https://b.example.com:9093/am"}
	require.Equal(t, want, decode[list](t, set(`{"urls":["https://b.example.com:9093/am","https://a.example.com",
		"https://a.example.com"]}`), http.StatusOK).URLs)
	l.Get(t, "/api/alertmanagers", &found)
	require.Equal(t, want, found.URLs)
	for body, field := range map[string]string{
		`{"urls":["https://a.example.com","http://10.0.0.1"]}`:       "urls[1]",
		`{"urls":["http://localhost:9093"]}`:                         "urls[0]",
		`{"urls":["file:///etc/passwd"]}`:                            "urls[0]",
		`{"urls":[""]}`:                                              "urls[0]",
		`{"urls":["https://` + strings.Repeat("a", 2000) + `.com"]}`: "urls[0]",
		`{"urls":[` + strings.Repeat(`"https://a.example.com",`, 10) + `"https://b.example.com"]}`: "urls",
	} {
		set(body).RequireFailure(t, 422, "VALIDATION_ERROR", "", map[string]any{"field": field})
	}
	set(`{}`).RequireFailure(t, 400, "VALIDATION_ERROR", "", map[string]any{"field": "urls"})
	set(`{"urls":null}`).RequireFailure(t, 400, "VALIDATION_ERROR", "", nil)
	l.Get(t, "/api/alertmanagers", &found)
	require.Equal(t, want, found.URLs, "nothing changed")
}

// alertmanagersData is an answer with Alertmanagers.
type alertmanagersData struct {
	URLs          []string
	Alertmanagers []struct {
		URL           string
		Authorization *struct {
			Type     string
			Username *string
		}
		Headers      []struct{ Name string }
		UpdatedAt    time.Time
		LastSentAt   *time.Time
		LastFailedAt *time.Time
		LastError    *string
	}
}

const alertmanagersPath = "/api/alertmanagers"

func (l *live) setAlertmanagers(t testing.TB, body string) *contract.Answer {
	t.Helper()
	return l.Do(t, contract.Request{Method: http.MethodPut, Path: alertmanagersPath, Body: body})
}

// secretsOf returns what is stored of an Alertmanager.
func (l *live) secretsOf(t testing.TB, url string) alerting.Alertmanager {
	t.Helper()
	all, err := l.DB.Alertmanagers(t.Context(), l.Workspace)
	require.NoError(t, err)
	for _, a := range all {
		if a.URL == url {
			return a
		}
	}
	require.Fail(t, "no such Alertmanager", url)
	return alerting.Alertmanager{}
}

func TestSecretsOfAlertmanagersAreStoredAndNeverReturned(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	const a, b = "https://a.example.com", "https://b.example.com"
	first := l.setAlertmanagers(t, `{"alertmanagers":[
		{"url":"`+b+`","authorization":{"type":"bearer","token":"t0ken-s3cret"}},
		{"url":"`+a+`","authorization":{"type":"basic","username":"ops","password":"pass-s3cret: ü"},
			"headers":[{"name":"X-Tenant","value":"head s3cret"},{"name":"x-key","value":"s3cret"}]}]}`)
	list := decode[alertmanagersData](t, first, http.StatusOK)
	require.Equal(t, []string{a, b}, list.URLs)
	require.Equal(t, "ops", *list.Alertmanagers[0].Authorization.Username)
	require.Equal(t, "basic", list.Alertmanagers[0].Authorization.Type)
	require.Equal(t, []struct{ Name string }{{"X-Tenant"}, {"x-key"}}, list.Alertmanagers[0].Headers)
	require.Equal(t, "bearer", list.Alertmanagers[1].Authorization.Type)
	require.Nil(t, list.Alertmanagers[1].Authorization.Username)
	read := l.Do(t, contract.Request{Path: alertmanagersPath})
	require.JSONEq(t, string(first.Data), string(read.Data))
	require.Equal(t, first.Header.Get("ETag"), read.Header.Get("ETag"))
	require.NotContains(t, string(first.Body)+string(read.Body), "s3cret")
	stored := l.secretsOf(t, a)
	require.Equal(t, "pass-s3cret: ü", stored.Secret.Reveal())
	require.Equal(t, map[string]config.Secret{"X-Tenant": "head s3cret", "x-key": "s3cret"}, stored.Headers)

	// A secret that is not given is kept for the same URL, also if another one is changed.
	second := l.setAlertmanagers(t, `{"alertmanagers":[
		{"url":"`+a+`","authorization":{"type":"basic","username":"dev"},"headers":[{"name":"x-TENANT"}]},
		{"url":"`+b+`","authorization":{"type":"bearer","token":"other"}}]}`)
	requireStatus(t, http.StatusOK, second)
	kept := l.secretsOf(t, a)
	require.Equal(t, "pass-s3cret: ü", kept.Secret.Reveal())
	require.Equal(t, "dev", kept.Username)
	require.Equal(t, map[string]config.Secret{"x-TENANT": "head s3cret"}, kept.Headers)
	require.Equal(t, "other", l.secretsOf(t, b).Secret.Reveal())
	require.NotEqual(t, first.Header.Get("ETag"), second.Header.Get("ETag"))

	// The entity tag is that of the secrets, too.
	third := l.setAlertmanagers(t, `{"alertmanagers":[
		{"url":"`+a+`","authorization":{"type":"basic","username":"dev"},"headers":[{"name":"x-TENANT"}]},
		{"url":"`+b+`","authorization":{"type":"bearer","token":"rolled"}}]}`)
	require.NotEqual(t, second.Header.Get("ETag"), third.Header.Get("ETag"))
	again := l.setAlertmanagers(t, `{"urls":["`+b+`","`+a+`"]}`)
	require.JSONEq(t, string(third.Data), string(again.Data), "URLs only keep all that is stored")
	require.Equal(t, "rolled", l.secretsOf(t, b).Secret.Reveal())

	// Without an authorization there is none, and the secret is gone.
	requireStatus(t, http.StatusOK, l.setAlertmanagers(t, `{"alertmanagers":[{"url":"`+a+`"}]}`))
	require.Equal(t, alerting.NoAuth, l.secretsOf(t, a).Auth)
	require.Empty(t, l.secretsOf(t, a).Secret)
	l.setAlertmanagers(t, `{"alertmanagers":[{"url":"`+a+`","authorization":{"type":"basic","username":"dev"}}]}`).
		RequireFailure(t, 422, validation, "", map[string]any{"field": "alertmanagers[0].authorization.password"})

	other := l.NewWorkspace(t, "live")
	key := l.NewKey(t, []uuid.UUID{other}, "admin")
	theirs := l.Do(t, contract.Request{Path: alertmanagersPath, Key: key, Workspace: other.String()})
	require.JSONEq(t, `{"urls":[],"alertmanagers":[]}`, string(theirs.Data))
}

// TestSecretsOfAlertmanagersReachNoOtherURL changes what selects the receiver of a secret that the caller may not know.
func TestSecretsOfAlertmanagersReachNoOtherURL(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	const url = "https://a.example.com:9093/am"
	basic := func(url string) string {
		return `{"alertmanagers":[{"url":"` + url + `","authorization":{"type":"basic","username":"ops"}}]}`
	}
	header := func(url string) string {
		return `{"alertmanagers":[{"url":"` + url + `","headers":[{"name":"X-Key"}]}]}`
	}
	requireStatus(t, http.StatusOK, l.setAlertmanagers(t, `{"alertmanagers":[{"url":"`+url+`",
		"authorization":{"type":"basic","username":"ops","password":"p"},"headers":[{"name":"X-Key","value":"v"}]}]}`))
	before := l.secretsOf(t, url)
	for _, changed := range []string{
		"https://b.example.com:9093/am", "http://a.example.com:9093/am", "https://a.example.com/am",
		"https://a.example.com:9093/b", "https://a.example.com:9093/am/", "https://a.example.com:9093/am?x=1",
	} {
		l.setAlertmanagers(t, basic(changed)).
			RequireFailure(t, 422, validation, "", map[string]any{"field": "alertmanagers[0].authorization.password"})
		l.setAlertmanagers(t, header(changed)).
			RequireFailure(t, 422, validation, "", map[string]any{"field": "alertmanagers[0].headers[0].value"})
	}
	// Nor does it become the secret of another type, or the value of another header.
	l.setAlertmanagers(t, `{"alertmanagers":[{"url":"`+url+`","authorization":{"type":"bearer"}}]}`).
		RequireFailure(t, 422, validation, "", map[string]any{"field": "alertmanagers[0].authorization.token"})
	l.setAlertmanagers(t, strings.Replace(header(url), "X-Key", "X-Other", 1)).
		RequireFailure(t, 422, validation, "", map[string]any{"field": "alertmanagers[0].headers[0].value"})
	require.Equal(t, before, l.secretsOf(t, url), "nothing changed")
	requireStatus(t, http.StatusOK, l.setAlertmanagers(t, `{"urls":["https://b.example.com"]}`))
	require.Equal(t, alerting.NoAuth, l.secretsOf(t, "https://b.example.com").Auth)
	l.setAlertmanagers(t, basic(url)).RequireFailure(t, 422, validation, "", nil)
}

func TestAlertmanagersThatAreRefused(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	one := func(fields string) string {
		return `{"alertmanagers":[{"url":"https://a.example.com"},{"url":"https://b.example.com",` + fields + `}]}`
	}
	login := func(fields string) string { return one(`"authorization":{` + fields + `}`) }
	headers := func(items string) string { return one(`"headers":[` + items + `]`) }
	const at, auth, first = "alertmanagers[1]", "alertmanagers[1].authorization", "alertmanagers[1].headers[0]"
	long := strings.Repeat("x", 4097)
	for _, c := range []struct {
		body, field string
		status      int
	}{
		{`{"urls":[],"alertmanagers":[]}`, "urls", 422},
		{`{"alertmanagers":null}`, "alertmanagers", 400},
		{`{"alertmanagers":[{}]}`, "alertmanagers[0].url", 400},
		{`{"alertmanagers":[{"url":"https://a.example.com"},{"url":"https://a.example.com"}]}`, at + ".url", 422},
		{`{"alertmanagers":[{"url":"https://u:p@a.example.com"}]}`, "alertmanagers[0].url", 422},
		{`{"alertmanagers":[{"url":"http://169.254.169.254"}]}`, "alertmanagers[0].url", 422},
		{
			`{"alertmanagers":[` + strings.Repeat(`{"url":"https://a.example.com"},`, 10) + `{"url":"x"}]}`, "alertmanagers",
			422,
		},
		{one(`"updatedAt":"2026-01-01T00:00:00Z"`), at + ".updatedAt", 400},
		{one(`"authorization":"Basic eDp5"`), auth, 400},
		{one(`"authorization":null`), auth, 400},
		{login(`"type":"basic","username":null,"password":"p"`), auth + ".username", 400},
		{login(`"type":"basic","username":"u","password":null`), auth + ".password", 400},
		{login(`"username":"u","password":"p"`), auth + ".type", 400},
		{login(`"type":""`), auth + ".type", 422},
		{login(`"type":"Basic","username":"u","password":"p"`), auth + ".type", 422},
		{login(`"type":"basic","password":"p"`), auth + ".username", 400},
		{login(`"type":"basic","username":"","password":"p"`), auth + ".username", 422},
		{login(`"type":"basic","username":"u:v","password":"p"`), auth + ".username", 422},
		{login(`"type":"basic","username":"u\n","password":"p"`), auth + ".username", 422},
		{login(`"type":"basic","username":"` + long[:257] + `","password":"p"`), auth + ".username", 422},
		{login(`"type":"basic","username":"u"`), auth + ".password", 422},
		{login(`"type":"basic","username":"u","password":""`), auth + ".password", 422},
		{login(`"type":"basic","username":"u","password":"s3\u0000cret"`), auth + ".password", 422},
		{login(`"type":"basic","username":"u","password":12345678`), auth + ".password", 400},
		{login(`"type":"basic","username":"u","password":"` + long + `"`), auth + ".password", 422},
		{login(`"type":"basic","username":"u","password":"p","token":"t"`), auth + ".token", 422},
		{login(`"type":"bearer"`), auth + ".token", 422},
		{login(`"type":"bearer","token":""`), auth + ".token", 422},
		{login(`"type":"bearer","token":"s3cret\r\nX: y"`), auth + ".token", 422},
		{login(`"type":"bearer","token":"s3crét"`), auth + ".token", 422},
		{login(`"type":"bearer","token":"a b"`), auth + ".token", 422},
		{login(`"type":"bearer","token":"t","password":"p"`), auth + ".password", 422},
		{login(`"type":"bearer","token":"t","username":"u"`), auth + ".username", 422},
		{one(`"headers":{"X-A":"1"}`), at + ".headers", 400},
		{headers(`{"value":"v"}`), first + ".name", 400},
		{headers(`{"name":"X-A","values":["v"]}`), first + ".values", 400},
		{headers(`{"name":"","value":"v"}`), first + ".name", 422},
		{headers(`{"name":"X A","value":"v"}`), first + ".name", 422},
		{headers(`{"name":"X-A:","value":"v"}`), first + ".name", 422},
		{headers(`{"name":"` + long[:101] + `","value":"v"}`), first + ".name", 422},
		{headers(`{"name":"X-A"}`), first + ".value", 422},
		{headers(`{"name":"X-A","value":""}`), first + ".value", 422},
		{headers(`{"name":"X-A","value":" s3cret"}`), first + ".value", 422},
		{headers(`{"name":"X-A","value":"s3cret\r\nHost: x"}`), first + ".value", 422},
		{headers(`{"name":"X-A","value":"s3crét"}`), first + ".value", 422},
		{headers(`{"name":"X-A","value":"` + long + `"}`), first + ".value", 422},
		{headers(`{"name":"X-A","value":"v"},{"name":"x-a","value":"w"}`), at + ".headers[1].name", 422},
		{headers(strings.Repeat(`{"name":"X-A","value":"v"},`, 10) + `{"name":"X-B","value":"v"}`), at + ".headers", 422},
	} {
		a := l.setAlertmanagers(t, c.body)
		a.RequireFailure(t, c.status, validation, "", map[string]any{"field": c.field})
		require.NotContains(t, string(a.Body), "s3", "no secret in an error")
	}
	for _, name := range []string{
		"Host", "content-length", "Content-Type", "Transfer-Encoding", "AUTHORIZATION", "Proxy-Authorization",
		"Connection", "Te", "Trailer", "Upgrade", "Expect", "User-Agent", "Accept-Encoding", "Keep-Alive",
	} {
		l.setAlertmanagers(t, headers(`{"name":"`+name+`","value":"v"}`)).
			RequireFailure(t, 422, validation, "", map[string]any{"field": first + ".name"})
	}
	var found alertmanagersData
	l.Get(t, alertmanagersPath, &found)
	require.Empty(t, found.URLs, "nothing changed")
	requireStatus(t, http.StatusOK, l.setAlertmanagers(t, headers(`{"name":"X-Scope-OrgID","value":"a|b c"}`)))
}

// TestResultsOfAlertmanagersAreReturned records results as the rules role does.
func TestResultsOfAlertmanagersAreReturned(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	const url = "https://a.example.com"
	read := func(tag string) *contract.Answer {
		return l.Do(t, contract.Request{Path: alertmanagersPath, Header: map[string]string{"If-None-Match": tag}})
	}
	record := func(failure string) {
		a := l.secretsOf(t, url)
		require.NoError(t, l.DB.RecordResult(t.Context(), l.Workspace, &a, failure))
	}
	before := l.setAlertmanagers(t, `{"urls":["`+url+`"]}`)
	initial := decode[alertmanagersData](t, before, http.StatusOK).Alertmanagers[0]
	require.Nil(t, initial.LastSentAt)
	require.Nil(t, initial.LastFailedAt)
	require.Nil(t, initial.LastError)
	record("an Alertmanager answers 401")
	failed := read(before.Header.Get("ETag"))
	refused := decode[alertmanagersData](t, failed, http.StatusOK).Alertmanagers[0]
	require.Equal(t, "an Alertmanager answers 401", *refused.LastError)
	require.NotNil(t, refused.LastFailedAt)
	require.Equal(t, http.StatusNotModified, read(failed.Header.Get("ETag")).Status)
	record("")
	sent := decode[alertmanagersData](t, read(failed.Header.Get("ETag")), http.StatusOK).Alertmanagers[0]
	require.Nil(t, sent.LastError)
	require.NotNil(t, sent.LastSentAt)

	// The results are no change of the settings.
	change := func(tag, body string) *contract.Answer {
		return l.Do(t, contract.Request{
			Method: http.MethodPut, Path: alertmanagersPath, Body: body, Header: map[string]string{"If-Match": tag},
		})
	}
	tag := before.Header.Get("ETag")
	withHeader := `{"alertmanagers":[{"url":"` + url + `","headers":[{"name":"X-A","value":"1"}]}]}`
	requireStatus(t, http.StatusOK, change(tag, withHeader))
	change(tag, `{"urls":["`+url+`"]}`).RequireFailure(t, 409, "CONFLICT", "", map[string]any{"field": "If-Match"})
}
