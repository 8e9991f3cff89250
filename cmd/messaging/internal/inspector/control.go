package inspector

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
	"github.com/messaging-go/messaging/cmd/messaging/internal/sandbox"
	"github.com/messaging-go/messaging/internal/fake"
)

func (in *Inspector) dump(*http.Request) (any, error) { return in.box.Records.Dump(), nil }

func (in *Inspector) addSeed(r *http.Request) (any, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, fmt.Errorf("cannot read the body: %w", err)
	}
	seed, err := records.ParseSeed(body)
	if err == nil {
		err = in.box.Add(seed)
	}
	if err != nil {
		return nil, err
	}
	return seed.Counts(), nil
}

func (in *Inspector) reset(r *http.Request) (any, error) {
	// clients with a single function for all calls send an empty object
	if body, err := io.ReadAll(r.Body); err != nil || len(body) > 0 && string(body) != "{}" {
		return nil, invalid(errors.New("what to reset is a parameter of the query, not a body"))
	}
	return nil, in.box.Reset(cmp.Or(r.URL.Query().Get("what"), "all"))
}

// maxMarkName is how many bytes the name of a mark has at most.
const maxMarkName = 200

// mark sets the number after which a wait begins to that of the latest request. The mark can
// have a name.
func (in *Inspector) mark(r *http.Request) (any, error) {
	var body struct {
		Name string `json:"name"`
	}
	if r.ContentLength != 0 {
		if err := readBody(r, &body); err != nil {
			return nil, err
		}
	}
	if len(body.Name) > maxMarkName {
		return nil, fmt.Errorf("name: must have at most %d bytes", maxMarkName)
	}
	return map[string]int{"number": in.box.History.Mark(body.Name)}, nil
}

// faultsBody is the list of rules, in the order in which they apply.
type faultsBody struct {
	Items  []sandbox.ActiveRule `json:"items"`
	Next   *int                 `json:"next"`
	Outage *time.Time           `json:"outage_until"`
}

func (in *Inspector) listFaults(*http.Request) (any, error) {
	return faultsBody{Items: in.box.Rules(), Outage: in.outageUntil()}, nil
}

// outageUntil returns the end of the outage, or nil.
func (in *Inspector) outageUntil() *time.Time {
	until := in.box.OutageUntil()
	if until.IsZero() {
		return nil
	}
	return &until
}

func (in *Inspector) addFault(r *http.Request) (any, error) {
	rule := fake.NewRule()
	if err := readBody(r, &rule); err != nil {
		return nil, err
	}
	id, err := in.box.AddRule(rule)
	return map[string]int{"id": id}, err
}

func (in *Inspector) removeFault(r *http.Request) (any, error) {
	id, err := strconv.Atoi(r.PathValue("id"))
	if err != nil || in.box.RemoveRule(id) != nil {
		return nil, failure{http.StatusNotFound, errors.New("there is no rule with this id")}
	}
	return nil, nil
}

// replay repeats a request, and responds with the number of the new one.
func (in *Inspector) replay(r *http.Request) (any, error) {
	var body sandbox.Replay
	if err := readBody(r, &body); err != nil {
		return nil, err
	}
	number, err := in.box.Replay(r.Context(), body)
	return map[string]int{"number": number}, err
}

func (in *Inspector) outage(r *http.Request) (any, error) {
	var body struct {
		For fake.Duration `json:"for"`
	}
	if err := readBody(r, &body); err != nil {
		return nil, err
	}
	return nil, in.box.Outage(time.Duration(body.For))
}
