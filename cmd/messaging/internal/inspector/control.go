package inspector

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
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

type markBody struct {
	Name string `json:"name"`
}

type numberBody struct {
	Number int `json:"number"`
}

// mark sets the number after which a wait begins to that of the latest request. The mark can
// have a name.
func (in *Inspector) mark(r *http.Request) (any, error) {
	var body markBody
	if r.ContentLength != 0 {
		if err := readBody(r, &body); err != nil {
			return nil, err
		}
	}
	if len(body.Name) > maxMarkName {
		return nil, fmt.Errorf("name: must have at most %d bytes", maxMarkName)
	}
	return numberBody{in.box.History.Mark(body.Name)}, nil
}

type faultsBody struct {
	listBody[sandbox.ActiveRule]
	OutageUntil *time.Time `json:"outage_until"`
}

// listFaults responds with the rules, in the order in which they apply.
func (in *Inspector) listFaults(*http.Request) (any, error) {
	return faultsBody{listBody[sandbox.ActiveRule]{Items: in.box.Rules()}, in.outageUntil()}, nil
}

// outageUntil returns the end of the outage, or nil.
func (in *Inspector) outageUntil() *time.Time {
	until := in.box.OutageUntil()
	if until.IsZero() {
		return nil
	}
	return &until
}

type idBody struct {
	ID int `json:"id"`
}

func (in *Inspector) addFault(r *http.Request) (any, error) {
	rule := fake.NewRule()
	if err := readBody(r, &rule); err != nil {
		return nil, err
	}
	id, err := in.box.AddRule(rule)
	return idBody{id}, err
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
	return numberBody{number}, err
}

type outageBody struct {
	For fake.Duration `json:"for"`
}

func (in *Inspector) outage(r *http.Request) (any, error) {
	var body outageBody
	if err := readBody(r, &body); err != nil {
		return nil, err
	}
	return nil, in.box.Outage(time.Duration(body.For))
}

// form is a handler of the form of a page. It returns the address of the page that shows what has changed. Its fragment moves
// the focus there, where people who hear the page would otherwise not notice it.
type form func(*http.Request) (address string, err error)

// ServeHTTP leads to the page.
func (handle form) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	err, address := r.ParseForm(), ""
	if err == nil {
		address, err = handle(r)
	}
	if err != nil {
		refuse(w, err)
		return
	}
	http.Redirect(w, r, address, http.StatusSeeOther)
}

// rulesPath leads to the rules of the page of faults.
const rulesPath = "/faults#live-part"

// postFault adds a preset, or the rule of the form.
func (in *Inspector) postFault(r *http.Request) (string, error) {
	rule, err := formRule(r.PostForm)
	if err == nil {
		_, err = in.box.AddRule(rule)
	}
	return rulesPath, err
}

func formRule(form url.Values) (rule fake.Rule, err error) {
	if i, err := strconv.Atoi(form.Get("preset")); err == nil && i >= 0 && i < len(sandbox.Presets) {
		rule = sandbox.Presets[i].Rule
		rule.Op = form.Get("op")
		return rule, nil
	}
	rule = fake.Rule{Op: form.Get("op"), Match: form.Get("match"), Probability: 1,
		Fault: fake.Fault{Kind: form.Get("kind"), Body: form.Get("body")}}
	numbers := map[string]*int{"skip": &rule.Skip, "count": &rule.Count}
	switch rule.Fault.Kind {
	case fake.Status:
		numbers["status"] = &rule.Fault.Status
		rule.Fault.Status = http.StatusBadGateway // as the field shows
	case fake.Slow, fake.RateLimited:
		err = rule.Fault.After.UnmarshalText([]byte(cmp.Or(form.Get("after"), "7s")))
	}
	for name, into := range numbers {
		if text := form.Get(name); text != "" && err == nil {
			if *into, err = strconv.Atoi(text); err != nil {
				err = fmt.Errorf("%s must be a number", name)
			}
		}
	}
	return rule, err
}

func (in *Inspector) postRemoveFault(r *http.Request) (string, error) {
	_, _ = in.removeFault(r) // it may have been used up in the meantime
	return rulesPath, nil
}

func (in *Inspector) postOutage(r *http.Request) (string, error) {
	d, err := time.ParseDuration(r.PostForm.Get("for"))
	if err == nil {
		err = in.box.Outage(d)
	}
	return rulesPath, err
}

func (in *Inspector) postReset(r *http.Request) (string, error) {
	return "/", in.box.Reset(r.PostForm.Get("what"))
}

// postReplay repeats a request from its page, and leads to the new one.
func (in *Inspector) postReplay(r *http.Request) (string, error) {
	created, err := in.box.Replay(r.Context(), sandbox.Replay{Number: numberOf(r.PostForm.Get("number"))})
	return fmt.Sprintf("/requests/%d#detail", created), err
}
