package contract_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/test/contract"
)

// testRoutes returns routes that only tests have, to test what the server does for the
// routes of any group.
func testRoutes(testing.TB, *contract.Server) []route.Route {
	read, write := []request.Scope{request.ReadLiveData}, []request.Scope{request.WriteLiveData}
	return []route.Route{
		{Method: "GET", Pattern: "/api/test/items", Scopes: read, Handle: listItems},
		{Method: "GET", Pattern: "/api/test/items/{id}", Scopes: read, Handle: getItem},
		{Method: "POST", Pattern: "/api/test/echo", Scopes: write, Handle: echo},
		{Method: "GET", Pattern: "/api/test/panic", Scopes: read, Handle: func(http.ResponseWriter, *http.Request) error {
			panic("boom")
		}},
		{Method: "GET", Pattern: "/api/test/latepanic", Scopes: read, Handle: func(
			w http.ResponseWriter, _ *http.Request,
		) error {
			_, _ = w.Write([]byte(strings.Repeat("half an answer", 100)))
			panic("boom")
		}},
		{Method: "GET", Pattern: "/api/test/large", Scopes: read, Handle: func(w http.ResponseWriter, r *http.Request) error {
			reply.Data(w, r, http.StatusOK, strings.Repeat("large ", 10_000))
			return nil
		}},
		{Method: "GET", Pattern: "/api/test/slow", Scopes: read, Handle: func(w http.ResponseWriter, r *http.Request) error {
			time.Sleep(400 * time.Millisecond)
			reply.Data(w, r, http.StatusOK, "slow")
			return nil
		}},
		{Method: "GET", Pattern: "/api/test/down", Scopes: read, Handle: func(http.ResponseWriter, *http.Request) error {
			return fault.New(fault.Unavailable, "The store is down").After(1500 * time.Millisecond)
		}},
	}
}

func listItems(w http.ResponseWriter, r *http.Request) error {
	q := request.Query(r)
	limit, offset := q.Page()
	q.String("name")
	if err := q.Err(); err != nil {
		return err
	}
	reply.List(w, r, []string{}, reply.PageMeta(0, limit, offset, 0))
	return nil
}

func getItem(w http.ResponseWriter, r *http.Request) error {
	id, err := request.PathID(r, "id", "item")
	if err != nil {
		return err
	}
	reply.Resource(w, r, id)
	return nil
}

func echo(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Name  *string  `json:"name"`
		Value *float64 `json:"value"`
	}
	if err := request.JSON(r, &body); err != nil {
		return err
	}
	var c request.Check
	c.Required("name", body.Name != nil)
	if body.Name != nil {
		c.Text("name", *body.Name, 1, 256)
	}
	if err := c.Err(); err != nil {
		return err
	}
	reply.Data(w, r, http.StatusCreated, *body.Name)
	return nil
}
