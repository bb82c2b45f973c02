package mqtt_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/app/mqtt"
	"github.com/livegraph/livegraph/test/testenv"
)

const mappings = "mappings: [{topic: 'a/{b}', payload: number, source: '{b}', metric: m}]"

func TestAConfigurationHasDefaults(t *testing.T) {
	t.Parallel()
	c, err := mqtt.Parse(strings.NewReader("brokers: [{url: 'mqtts://h', clientId: c, " + mappings + "}, " +
		"{url: 'ws://h/mqtt', name: n, version: 3.1.1, clientId: c, maxInFlight: 7, " + mappings + "}]"))
	require.NoError(t, err)
	require.Len(t, c.Brokers, 2)
	first, second := c.Brokers[0], c.Brokers[1]
	require.Equal(t, "h:8883", first.Name, "the port of the scheme is added")
	require.Equal(t, "5", first.Version)
	require.Equal(t, 1000, first.MaxInFlight)
	require.Equal(t, "n", second.Name)
	require.Equal(t, "3.1.1", second.Version)
	require.Equal(t, 7, second.MaxInFlight)
}

func TestABadConfigurationNamesTheField(t *testing.T) {
	t.Parallel()
	certificate := testenv.NewAuthority(t).Sign("h", time.Hour)
	// broker returns a file with a broker that has further fields.
	broker := func(fields string) string { return "brokers: [{url: 'mqtt://h', clientId: c, " + fields + "}]" }
	encrypted := func(tls string) string {
		return "brokers: [{url: 'mqtts://h', clientId: c, tls: {" + tls + "}, " + mappings + "}]"
	}
	for text, want := range map[string]string{
		"":                                      "brokers: must have 1 to 100 entries",
		"broker: []":                            `unknown field "broker"`,
		"brokers: [null]":                       "brokers[0]: is empty",
		"brokers: [{url: 'tcp://h'}]":           "brokers[0].url: must be mqtt://HOST:PORT, mqtts://, ws:// or wss://",
		"brokers: [{url: 'mqtt://u@h'}]":        "brokers[0].url: must be mqtt://",
		"brokers: [{url: '%'}]":                 "brokers[0].url: must be mqtt://",
		"brokers: [{url: 'mqtt://h'}]":          "brokers[0].clientId: is required, up to 256 bytes",
		broker("version: 4"):                    "brokers[0].version: must be 5 or 3.1.1",
		broker("sharedGroup: a/b"):              "brokers[0].sharedGroup: must not contain +, # or /",
		broker("passwordFile: p"):               "brokers[0].passwordFile: requires username",
		broker("maxInFlight: 10001"):            "brokers[0].maxInFlight: must be 1 to 10000",
		broker("maxInFlight: -1"):               "brokers[0].maxInFlight: must be 1 to 10000",
		broker("sessionExpiry: 1ms"):            "brokers[0].sessionExpiry: must be a duration of whole seconds",
		broker("keepAlive: 19h"):                "brokers[0].keepAlive: must be a duration of whole seconds",
		broker("keepAlive: soon"):               "up to 18h0m0s",
		broker("tls: {caFile: x}"):              "brokers[0].tls: requires a url with mqtts:// or wss://",
		encrypted("certFile: x"):                "brokers[0].tls: certFile and keyFile go together",
		encrypted("caFile: nowhere.pem"):        "nowhere.pem",
		encrypted("caFile: " + certificate.Key): "brokers[0].tls: ",
		broker("mappings: []"):                  "brokers[0].mappings: must have 1 to 1000 entries",
		broker("mappings: [null]"):              "brokers[0].mappings[0]: is empty",
		broker("mappings: [{topic: 'a/#'}]"):    "brokers[0].mappings[0].",
		broker("sharedGroup: s, mappings: [{payload: sparkplug}]"): "" +
			"brokers[0].mappings[0].payload: must not be sparkplug with a sharedGroup",
		"brokers: [{url: 'mqtt://h', clientId: c, " + mappings + "}, {url: 'mqtt://h', clientId: d, " + mappings + "}]": "" +
			`brokers[1].name: "h:1883" is used twice`,
	} {
		_, err := mqtt.Parse(strings.NewReader(text))
		require.ErrorContains(t, err, want, text)
	}
}

func TestAnErrorNamesTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "mqtt.yaml")
	_, err := mqtt.Load(path)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(path, []byte("brokers: []"), 0o600))
	_, err = mqtt.Load(path)
	require.EqualError(t, err, path+": brokers: must have 1 to 100 entries")
	require.NoError(t, os.WriteFile(path, []byte("brokers: [{url: 'mqtt://h', clientId: c, "+mappings+"}]"), 0o600))
	_, err = mqtt.Load(path)
	require.NoError(t, err)
}
