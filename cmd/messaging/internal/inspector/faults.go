package inspector

import (
	"cmp"
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/inspector/guard"
	"github.com/messaging-go/messaging/cmd/messaging/internal/sandbox"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/internal/fake"
	"github.com/messaging-go/messaging/internal/service"
)

// faultsDetail is what the page of faults shows.
type faultsDetail struct {
	Rules      []sandbox.ActiveRule
	UsedUp     []sandbox.ActiveRule
	Presets    []presetView
	Operations iter.Seq[*service.Operation]
	Kinds      []string
	Op         string            // the operation that is selected
	Form       map[string]string // what the form of a rule has
	Failed     []row             // the latest requests that a fault changed
}

type presetView struct {
	Index       int
	Name, About string
	Delivery    string // for the operation that is selected
	Retried     bool
}

// defaultFaultOp is the operation that the presets are for at first.
var defaultFaultOp = service.TriggerEvent.Name

func (in *Inspector) faultsPage(w http.ResponseWriter, r *http.Request) { in.writeFaults(w, r, "") }

func (in *Inspector) writeFaults(w http.ResponseWriter, r *http.Request, problem string) {
	p := in.newPage("faults", "Faults", r)
	p.Wide, p.Reload, p.Problem = true, true, problem
	if problem != "" {
		p.Status = http.StatusUnprocessableEntity
	}
	form := map[string]string{"op": defaultFaultOp, "count": "1"}
	if problem != "" { // keep what was typed
		for name := range r.PostForm {
			form[name] = r.PostForm.Get(name)
		}
	}
	d := faultsDetail{Form: form, Rules: in.box.Rules(), UsedUp: in.box.UsedUp(), Operations: service.Served(),
		Kinds: fake.FaultKinds, Op: defaultFaultOp}
	if r.Method == http.MethodGet && r.URL.Query().Has("op") {
		d.Op = r.URL.Query().Get("op")
	}
	if !fake.IsServed(d.Op) {
		d.Op = "" // any
	}
	for i, preset := range sandbox.Presets {
		d.Presets = append(d.Presets, presetView{i, preset.Name, preset.About,
			sandbox.Expect(preset.Rule.Fault, d.Op), sandbox.Retried(preset.Rule.Fault, d.Op)})
	}
	d.Failed = in.latestFailed()
	p.Detail = d
	p.write(w, "faults.html")
}

// latestFailed returns the latest requests that a fault changed, also by a rule that is gone.
func (in *Inspector) latestFailed() (rows []row) {
	const most = 5
	failed, _ := in.box.History.Find(history.Query{}.And(func(e *history.Entry) bool { return e.Fault != "" }), 0, most)
	for _, e := range failed {
		rows = append(rows, linkedRow(e))
	}
	return rows
}

// rulesPath leads to the rules, where the focus goes on after one was added or removed.
const rulesPath = "/faults#live-part"

// postFault adds a preset, or the rule of the form.
func (in *Inspector) postFault(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		guard.Refuse(w, bodyStatus(err), "cannot read the form: "+err.Error())
		return
	}
	rule, err := formRule(r)
	if err == nil {
		_, err = in.box.AddRule(rule)
	}
	if err != nil {
		in.writeFaults(w, r, "The rule was not added: "+err.Error()+".")
		return
	}
	http.Redirect(w, r, rulesPath, http.StatusSeeOther)
}

func formRule(r *http.Request) (fake.Rule, error) {
	if preset := r.PostFormValue("preset"); preset != "" {
		i, err := strconv.Atoi(preset)
		if err != nil || i < 0 || i >= len(sandbox.Presets) {
			return fake.Rule{}, fmt.Errorf("unknown preset %q", preset)
		}
		rule := sandbox.Presets[i].Rule
		rule.Op = r.PostFormValue("op")
		return rule, nil
	}
	rule := fake.Rule{Op: r.PostFormValue("op"), Fault: fake.Fault{Kind: r.PostFormValue("kind"), Body: r.PostFormValue("body")}}
	for _, field := range []struct {
		name string
		into *int
	}{{"skip", &rule.Skip}, {"count", &rule.Count}, {"status", &rule.Fault.Status}} {
		if err := formNumber(r, field.name, field.into, strconv.Atoi); err != nil {
			return rule, err
		}
	}
	percent := 100
	if err := formNumber(r, "percent", &percent, strconv.Atoi); err != nil {
		return rule, err
	}
	if percent < 1 || percent > 100 {
		return rule, fmt.Errorf("the probability must be from 1 to 100 %%")
	}
	rule.Probability = float64(percent) / 100
	err := formNumber(r, "seed", &rule.Seed, func(s string) (uint64, error) { return strconv.ParseUint(s, 10, 64) })
	if err != nil {
		return rule, err
	}
	if rule.Fault.Kind == "status" && r.PostFormValue("status") == "" {
		rule.Fault.Status = http.StatusBadGateway // as the field shows
	}
	if rule.Fault.Kind == "slow" || rule.Fault.Kind == "rate_limited" {
		err = rule.Fault.After.UnmarshalText([]byte(cmp.Or(r.PostFormValue("after"), "7s")))
	}
	return rule, err
}

// formNumber reads a field, if it is filled in.
func formNumber[T any](r *http.Request, name string, into *T, parse func(string) (T, error)) error {
	text := r.PostFormValue(name)
	if text == "" {
		return nil
	}
	value, err := parse(text)
	if err != nil {
		return fmt.Errorf("%s must be a number", name)
	}
	*into = value
	return nil
}

func (in *Inspector) postRemoveFault(w http.ResponseWriter, r *http.Request) {
	if id, err := strconv.Atoi(r.PathValue("id")); err == nil {
		_ = in.box.RemoveRule(id) // it may have been used up in the meantime
	}
	http.Redirect(w, r, rulesPath, http.StatusSeeOther)
}

func (in *Inspector) postOutage(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		guard.Refuse(w, bodyStatus(err), "cannot read the form: "+err.Error())
		return
	}
	d, err := time.ParseDuration(r.PostFormValue("for"))
	if err == nil {
		err = in.box.Outage(d)
	}
	if err != nil {
		in.writeFaults(w, r, "The outage was not started: it must last more than 0 s and at most 1 h.")
		return
	}
	http.Redirect(w, r, rulesPath, http.StatusSeeOther)
}

func (in *Inspector) postReset(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		guard.Refuse(w, bodyStatus(err), "cannot read the form: "+err.Error())
		return
	}
	if err := in.box.Reset(r.PostFormValue("what")); err != nil {
		guard.Refuse(w, http.StatusUnprocessableEntity, err.Error())
		return
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// deliveryTag returns a delivery, as JSON has it, as a tag.
func deliveryTag(name string) tag {
	class := map[string]string{"accepted": "ok", "unknown": "unknown", "rejected": "bad"}[name]
	return tag{class, strings.ReplaceAll(name, "_", " ")}
}

// kindName returns the kind of a fault in words.
func kindName(kind string) string {
	if kind == "answer_lost" {
		return "response lost"
	}
	return strings.ReplaceAll(kind, "_", " ")
}

// describeFault returns what a fault does, in words.
func describeFault(f fake.Fault) string {
	after := time.Duration(f.After)
	switch f.Kind {
	case "answer_lost":
		return kindName(f.Kind)
	case "status":
		return fmt.Sprintf("status %d", f.Status)
	case "rate_limited":
		return fmt.Sprintf("429, retry after %v", after)
	case "slow":
		return fmt.Sprintf("delayed by %v", after)
	default:
		return kindName(f.Kind) + ": " + f.Body
	}
}

// describeRequests returns which requests fail, in words.
func describeRequests(r fake.Rule) string {
	text := "all"
	switch {
	case r.Count == 1:
		text = "1 request"
	case r.Count > 1:
		text = words.Count(r.Count, "request")
	}
	switch {
	case r.Skip == 1:
		text += " after the first"
	case r.Skip > 1:
		text += fmt.Sprintf(" after the first %d", r.Skip)
	}
	if r.Probability > 0 && r.Probability < 1 {
		text += fmt.Sprintf(", each with probability %v (seed %d)", r.Probability, r.Seed)
	}
	return text
}
