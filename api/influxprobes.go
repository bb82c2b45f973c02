package api

import (
	"net/http"
	"strconv"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/route"
)

// Paths that InfluxDB clients request before they write.
const (
	influxPingPath   = "/ping"
	influxHealthPath = "/health"
)

// influxProbes returns the routes of InfluxDB's probes, for its clients.
func (s *Server) influxProbes() []route.Route {
	return []route.Route{
		{Method: http.MethodGet, Pattern: influxPingPath, Access: route.Public, Handle: s.influxPing},
		{Method: http.MethodGet, Pattern: influxHealthPath, Access: route.Public, Handle: s.influxHealth},
	}
}

// influxPing reports that the process runs.
func (s *Server) influxPing(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("X-Influxdb-Build", "Livegraph")
	w.Header().Set("X-Influxdb-Version", s.deps.Version)
	reply.NoContent(w)
	return nil
}

// influxHealth reports the state of /readyz in the format of InfluxDB.
func (s *Server) influxHealth(w http.ResponseWriter, r *http.Request) error {
	status, text, message := http.StatusOK, "pass", "ready for writes"
	if s.state(r) != stateReady {
		status, text, message = http.StatusServiceUnavailable, "fail", "not ready"
	}
	probe(
		w, status,
		`{"name":"livegraph","message":"`+message+`","status":"`+text+`","checks":[],"version":`+
			strconv.Quote(s.deps.Version)+`}`,
	)
	return nil
}
