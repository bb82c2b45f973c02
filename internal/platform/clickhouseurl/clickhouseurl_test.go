package clickhouseurl_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/clickhouseurl"
)

func TestTheHostsOfAURL(t *testing.T) {
	for text, hosts := range map[string][]string{
		"clickhouse://u:p@a:9000/d":                       {"a:9000"},
		"clickhouse://u:p%40,@a:9000,b:9001/d?secure":     {"a:9000", "b:9001"},
		"clickhouse://a":                                  {"a"},
		"https://u:p@[::1]:8443,[::2]:8443/d?x=1,2#f":     {"[::1]:8443", "[::2]:8443"},
		"http://default:secret@127.0.0.1:8123/livegraph":  {"127.0.0.1:8123"},
		"clickhouse://u:p@a:9000,b:9000,c:9000/livegraph": {"a:9000", "b:9000", "c:9000"},
	} {
		u, found, err := clickhouseurl.Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, hosts, found, text)
		require.Equal(t, hosts[0], u.Host, text)
	}
	u, _, err := clickhouseurl.Parse("clickhouse://u:p%40,@a:9000,b:9001/d?secure=true")
	require.NoError(t, err)
	password, _ := u.User.Password()
	require.Equal(t, []string{"u", "p@,", "/d", "secure=true"}, []string{u.User.Username(), password, u.Path, u.RawQuery})
}

func TestAURLWithAnError(t *testing.T) {
	for _, text := range []string{
		"http://u:secret@%zz", "clickhouse://u:secret@a:9000,/d", "clickhouse://u:secret@a:x,b:9000/d",
		"clickhouse://u:secret@a:9000,b:x/d", "clickhouse://u:secret@,a:1/d", "clickhouse://u:secret@a,b:9000/d",
	} {
		_, _, err := clickhouseurl.Parse(text)
		require.Error(t, err, text)
		require.NotContains(t, err.Error(), "secret")
	}
}
