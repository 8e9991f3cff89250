package inspector

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/messaging-go/messaging/cmd/messaging/internal/inspector/guard"
	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
	"github.com/messaging-go/messaging/cmd/messaging/internal/sandbox"
	"github.com/messaging-go/messaging/internal/fake"
)

func (in *Inspector) dump(w http.ResponseWriter, _ *http.Request) {
	respond(w, in.box.Records.Dump())
}

func (in *Inspector) addSeed(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxSeedBody))
	if err != nil {
		guard.Refuse(w, bodyStatus(err), "cannot read the body: "+err.Error())
		return
	}
	seed, err := records.ParseSeed(body)
	if err != nil {
		guard.Refuse(w, http.StatusUnprocessableEntity, err.Error())
		return
	}
	if err := in.box.Add(seed); err != nil {
		guard.Refuse(w, http.StatusUnprocessableEntity, oneLine(err))
		return
	}
	respond(w, seed.Counts())
}

func (in *Inspector) reset(w http.ResponseWriter, r *http.Request) {
	// clients with a single function for all calls send an empty object
	if body, err := io.ReadAll(io.LimitReader(r.Body, maxControlBody)); err != nil || len(body) > 0 && string(body) != "{}" {
		guard.Refuse(w, http.StatusBadRequest, "what to reset is a parameter of the query, not a body")
		return
	}
	if err := in.box.Reset(cmp.Or(r.URL.Query().Get("what"), "all")); err != nil {
		guard.Refuse(w, http.StatusUnprocessableEntity, err.Error())
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// faultsBody is the list of rules, in the order in which they apply.
type faultsBody struct {
	Items  []sandbox.ActiveRule `json:"items"`
	Next   *int                 `json:"next"`
	Outage *time.Time           `json:"outage_until"`
}

func (in *Inspector) listFaults(w http.ResponseWriter, _ *http.Request) {
	respond(w, faultsBody{Items: in.box.Rules(), Outage: in.outageUntil()})
}

// outageUntil returns the end of the outage, or nil.
func (in *Inspector) outageUntil() *time.Time {
	until := in.box.OutageUntil()
	if until.IsZero() {
		return nil
	}
	return &until
}

// readControl reads a body without unknown keys. If it cannot, it responds with an
// error and returns false.
func readControl(w http.ResponseWriter, r *http.Request, into any) bool {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		guard.Refuse(w, bodyStatus(err), "cannot read the body: "+err.Error())
		return false
	}
	decoder := json.NewDecoder(strings.NewReader(string(body)))
	decoder.DisallowUnknownFields()
	err = decoder.Decode(into)
	if _, trailing := decoder.Token(); err == nil && !errors.Is(trailing, io.EOF) {
		err = errors.New("more text after the object")
	}
	if errors.Is(err, io.EOF) {
		err = errors.New("the body is empty")
	}
	if err != nil {
		guard.Refuse(w, http.StatusUnprocessableEntity, wrongType(err))
		return false
	}
	return true
}

// wrongType returns the text of an error of a body, without the names of Go's types.
func wrongType(err error) string {
	wrong := new(json.UnmarshalTypeError)
	if !errors.As(err, &wrong) {
		return strings.TrimPrefix(err.Error(), "json: ")
	}
	want := map[reflect.Kind]string{reflect.Struct: "an object", reflect.String: "a text", reflect.Bool: "true or false",
		reflect.Slice: "a list", reflect.Int: "a whole number", reflect.Float64: "a number"}[wrong.Type.Kind()]
	if wrong.Type == reflect.TypeFor[fake.Duration]() {
		want = `a text such as "7s"`
	}
	if want == "" {
		want = "another value"
	}
	is := "a " + wrong.Value
	if wrong.Value == "array" || wrong.Value == "object" {
		is = "an " + wrong.Value
	}
	return strings.TrimPrefix(wrong.Field+": must be "+want+", and not "+is, ": ")
}

func (in *Inspector) addFault(w http.ResponseWriter, r *http.Request) {
	rule := fake.NewRule()
	if !readControl(w, r, &rule) {
		return
	}
	id, err := in.box.AddRule(rule)
	if err != nil {
		guard.Refuse(w, http.StatusUnprocessableEntity, err.Error())
		return
	}
	respond(w, map[string]int{"id": id})
}

func (in *Inspector) removeFault(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.Atoi(r.PathValue("id"))
	if err != nil || in.box.RemoveRule(id) != nil {
		guard.Refuse(w, http.StatusNotFound, "there is no rule with this id")
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// replay repeats a request, and responds with the number of the new one.
func (in *Inspector) replay(w http.ResponseWriter, r *http.Request) {
	var body sandbox.Replay
	if !readControl(w, r, &body) {
		return
	}
	number, err := in.box.Replay(r.Context(), body)
	if err != nil {
		guard.Refuse(w, replayStatus(err), err.Error())
		return
	}
	respond(w, map[string]int{"number": number})
}

func replayStatus(err error) int {
	switch {
	case errors.Is(err, sandbox.ErrNotFound):
		return http.StatusNotFound
	case errors.Is(err, sandbox.ErrRedacted), errors.Is(err, sandbox.ErrKeyNotKept):
		return http.StatusConflict
	default:
		return http.StatusUnprocessableEntity
	}
}

func (in *Inspector) outage(w http.ResponseWriter, r *http.Request) {
	var body struct {
		For fake.Duration `json:"for"`
	}
	if !readControl(w, r, &body) {
		return
	}
	if err := in.box.Outage(time.Duration(body.For)); err != nil {
		guard.Refuse(w, http.StatusUnprocessableEntity, err.Error())
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
