package inspector

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/messaging-go/messaging/cmd/messaging/internal/inspector/view"
	"github.com/messaging-go/messaging/cmd/messaging/internal/sandbox"
	"github.com/messaging-go/messaging/internal/fake"
	"github.com/messaging-go/messaging/internal/service"
)

// rulesPath leads to the rules, where the focus goes on after one was added or removed.
const rulesPath = "/faults#live-part"

func (in *Inspector) faultsPage(r *http.Request) (*view.Page, string, string) {
	p := view.NewPage(in.box, "faults", "Faults", r)
	form := map[string]string{"op": service.TriggerEvent.Name, "count": "1"}
	for name := range r.PostForm { // keep what was typed
		form[name] = r.PostForm.Get(name)
	}
	p.Wide, p.Reload, p.Detail = true, true, view.NewFaults(in.box, form)
	return p, "faults.html", ""
}

// changed leads to the rules after a change, or shows why there was none.
func (in *Inspector) changed(r *http.Request, problem string, err error) (*view.Page, string, string) {
	if err == nil {
		return nil, "", rulesPath
	}
	p, template, _ := in.faultsPage(r)
	p.Problem, p.Status = problem, http.StatusUnprocessableEntity
	return p, template, ""
}

// postFault adds a preset, or the rule of the form.
func (in *Inspector) postFault(r *http.Request) (*view.Page, string, string) {
	rule, err := formRule(r)
	if err == nil {
		_, err = in.box.AddRule(rule)
	}
	return in.changed(r, fmt.Sprintf("The rule was not added: %v.", err), err)
}

func formRule(r *http.Request) (rule fake.Rule, err error) {
	form := r.PostForm
	if name := form.Get("preset"); name != "" {
		i, err := strconv.Atoi(name)
		if err != nil || i < 0 || i >= len(sandbox.Presets) {
			return rule, fmt.Errorf("unknown preset %q", name)
		}
		rule = sandbox.Presets[i].Rule
		rule.Op = form.Get("op")
		return rule, nil
	}
	rule = fake.Rule{Op: form.Get("op"), Probability: 1, Fault: fake.Fault{Kind: form.Get("kind"), Body: form.Get("body")}}
	if rule.Fault.Kind == "status" {
		rule.Fault.Status = http.StatusBadGateway // as the field shows
	}
	for name, into := range map[string]*int{"skip": &rule.Skip, "count": &rule.Count, "status": &rule.Fault.Status} {
		if text := form.Get(name); text != "" {
			if *into, err = strconv.Atoi(text); err != nil {
				return rule, fmt.Errorf("%s must be a number", name)
			}
		}
	}
	if rule.Fault.Kind == "slow" || rule.Fault.Kind == "rate_limited" {
		err = rule.Fault.After.UnmarshalText([]byte(cmp.Or(form.Get("after"), "7s")))
	}
	return rule, err
}

func (in *Inspector) postRemoveFault(r *http.Request) (*view.Page, string, string) {
	if id, err := strconv.Atoi(r.PathValue("id")); err == nil {
		_ = in.box.RemoveRule(id) // it may have been used up in the meantime
	}
	return nil, "", rulesPath
}

func (in *Inspector) postOutage(r *http.Request) (*view.Page, string, string) {
	d, err := time.ParseDuration(r.PostForm.Get("for"))
	if err == nil {
		err = in.box.Outage(d)
	}
	return in.changed(r, "The outage was not started: it must last more than 0 s and at most 1 h.", err)
}

func (in *Inspector) postReset(w http.ResponseWriter, r *http.Request) {
	err := r.ParseForm()
	if err == nil {
		err = in.box.Reset(r.PostForm.Get("what"))
	}
	if err != nil {
		refuse(w, err)
		return
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// postReplay repeats a request from its page, and shows the new one. The fragment of its address
// moves the focus there, where people who hear the page would otherwise not notice it.
func (in *Inspector) postReplay(w http.ResponseWriter, r *http.Request) {
	err := r.ParseForm()
	created := 0
	if err == nil {
		created, err = in.replayForm(r)
	}
	if err != nil {
		refuse(w, err)
		return
	}
	http.Redirect(w, r, fmt.Sprintf("/requests/%d#detail", created), http.StatusSeeOther)
}

var errNoTexts = errors.New("the subject and the message of this request cannot be edited alone")

func (in *Inspector) replayForm(r *http.Request) (created int, err error) {
	form := r.PostForm
	replay := sandbox.Replay{Number: numberOf(form.Get("number")), Faults: form.Has("faults")}
	if e, ok := in.box.History.Get(replay.Number); ok {
		body, ok := view.EditedBody(e, form)
		if !ok {
			return 0, errNoTexts
		}
		if body != nil {
			edited := sandbox.ReplayBody(body)
			replay.Body = &edited
		}
	}
	return in.box.Replay(r.Context(), replay)
}
