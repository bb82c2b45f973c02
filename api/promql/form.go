package promql

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/prometheus/common/model"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

const (
	formType = "application/x-www-form-urlencoded"
	// maxForm is the maximum size of the body of a request.
	maxForm = 1 << 20
	// maxSeconds is the largest time in seconds since the Unix epoch: the end of the year 9999.
	maxSeconds = 253_402_300_799
)

// form contains the parameters of a request, of its URL and of its body.
type form struct{ values url.Values }

// readForm parses the parameters. Those of the body precede those of the URL.
func readForm(w http.ResponseWriter, r *http.Request) (form, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return form{}, fault.New(fault.Malformed, "the query string of the URL is not valid")
	}
	if r.Method != http.MethodPost || r.ContentLength == 0 {
		return form{query}, nil
	}
	body, release, err := request.Body(w, r, maxForm, request.Types(formType))
	if err != nil {
		return form{}, err
	}
	defer release()
	values, err := url.ParseQuery(string(body))
	if err != nil {
		return form{}, fault.New(fault.Malformed, "the body is not a valid form")
	}
	for name, given := range query {
		values[name] = append(values[name], given...)
	}
	return form{values}, nil
}

// invalidParameter returns an error with the text that Prometheus uses.
func invalidParameter(name, problem string) error {
	return fault.Newf(fault.Malformed, "invalid parameter %q: %s", name, problem).With("field", name)
}

// get returns the first value of a parameter; "" if there is none.
func (f form) get(name string) string { return f.values.Get(name) }

// time returns the time in a parameter, or the default if it is absent.
func (f form) time(name string, absent time.Time) (time.Time, error) {
	text := f.get(name)
	if text == "" {
		return absent, nil
	}
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		if !(math.Abs(seconds) <= maxSeconds) {
			return absent, invalidParameter(name, fmt.Sprintf("%q is not a time of the years 0 to 9999", text))
		}
		whole, fraction := math.Modf(seconds)
		fraction = math.Round(fraction*1000) / 1000
		return time.Unix(int64(whole), int64(fraction*float64(time.Second))).UTC(), nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return absent, invalidParameter(name, fmt.Sprintf("cannot parse %q to a valid timestamp", text))
	}
	return t, nil
}

// duration returns the duration in a parameter, in seconds or as in PromQL; zero if it is absent.
func (f form) duration(name string) (time.Duration, error) {
	text := f.get(name)
	if text == "" {
		return 0, nil
	}
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		if ns := seconds * float64(time.Second); math.Abs(ns) < math.MaxInt64 {
			return time.Duration(ns), nil
		}
		return 0, invalidParameter(name, fmt.Sprintf("cannot parse %q to a valid duration. It overflows int64", text))
	}
	d, err := model.ParseDuration(text)
	if err != nil {
		return 0, invalidParameter(name, fmt.Sprintf("cannot parse %q to a valid duration", text))
	}
	return time.Duration(d), nil
}

// limit returns the number in parameter limit; zero if there is no limit.
func (f form) limit() (int, error) { return f.number("limit") }

func (f form) number(name string) (int, error) {
	text := f.get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, invalidParameter(name, "must be a non-negative number")
	}
	return n, nil
}
