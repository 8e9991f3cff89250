package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/profile"
	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
)

// command is another command for the same service, to be pasted into a shell.
func (s *settings) command(args ...string) string {
	words := []string{"messaging"}
	if s.profile != "" {
		words = append(words, "-p", s.profile)
	}
	return quoted(append(words, args...))
}

// quoted joins the words of a command for a shell.
func quoted(words []string) string {
	for i, word := range words {
		words[i] = quoteIfNeeded(word)
	}
	return strings.Join(words, " ")
}

// howToLook says how to find out whether a send that began at a time was carried out. Only a sandbox
// can be asked.
func (send *sending) howToLook(began time.Time) string {
	if send.service.Kind != profile.Sandbox {
		return send.look + " before you send it again with --again"
	}
	which := ""
	if send.again { // there may be several
		which = "; this one was sent at " + began.UTC().Format(time.RFC3339) + ", and older ones come first: for the next, pass --after NUMBER"
	}
	return "before you send it again with --again, see whether the sandbox has it (with an empty \"effect\", it was not carried out" +
		which + "):\n  " + send.search()
}

// search is the command that finds a send in the sandbox whose response was lost.
func (send *sending) search() string {
	return searchIn(inspectorOf(send.service), append(slices.Clone(send.terms), "delivery:unknown"))
}

// searchIn is the command that finds what the sandbox with an inspector has received since its start, since a test may
// have set a mark in the meantime.
func searchIn(inspector string, terms []string) string {
	words := slices.Concat([]string{"messaging", "sandbox", "wait"}, terms, []string{"--after", "start", "--json=number,at,effect"})
	if inspector != profile.DefaultInspector {
		words = append(words, "--ui", inspector)
	}
	return quoted(words)
}

// inspectorOf returns the URL of the inspector of a sandbox. That of a profile of the configuration file is
// not known, and another sandbox would answer that it has nothing.
func inspectorOf(service *profile.Service) string {
	url := os.Getenv(profile.InspectorVariable)
	switch {
	case service.Name == profile.SandboxName:
		return cmp.Or(url, profile.DefaultInspector)
	case service.Name == "" && url != "": // "sandbox env" has set both
		return url
	}
	return unknownInspector
}

const unknownInspector = "http://127.0.0.1:INSPECTOR_PORT"

// termsOfBody are the terms that find a stored trigger: by its event, its customer and all of its values.
func termsOfBody(body []byte) []string {
	var trigger struct {
		EventID string         `json:"event_id"`
		Payload map[string]any `json:"payload"`
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if decoder.Decode(&trigger) != nil {
		return nil
	}
	terms := []string{"op:trigger", termOf("event:", trigger.EventID)}
	for _, name := range slices.Sorted(maps.Keys(trigger.Payload)) {
		terms = append(terms, termsOfValue("payload.", name, trigger.Payload[name])...)
	}
	return terms
}

// termsOfValue are the terms that find a value by its name and what is before that in its path. There are none if a term
// cannot have it.
func termsOfValue(before, name string, value any) []string {
	if strings.ContainsAny(name, `.="`) { // which a term splits
		return nil
	}
	switch value := value.(type) {
	case string:
		part, sign := termOf("", value), "="
		if part == value {
			sign = "=="
		}
		return []string{"value:" + before + name + sign + part}
	case json.Number:
		return []string{"value:" + before + name + "==" + value.String()}
	}
	return nil
}

// inspectorAt returns the URL of the inspector of the sandbox whose service has a URL, as far as it is known.
func inspectorAt(service string) string {
	url := os.Getenv(profile.InspectorVariable)
	if url == "" && service == profile.DefaultService {
		return profile.DefaultInspector
	}
	return cmp.Or(url, unknownInspector)
}

// termOf returns a term of a search. Its value is the longest part of a text that a term can have.
func termOf(key, text string) string {
	longest := ""
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '"' || visible.Hidden(r) }) {
		if part = strings.TrimSpace(part); len(part) > len(longest) {
			longest = part
		}
	}
	return key + longest
}

// termsOfTrigger are the terms that find a trigger: by its customer, and by the values that the
// event requires or, if there are none, by all of them.
func termsOfTrigger(params messaging.EventTriggerParams) []string {
	terms := []string{"op:trigger", termOf("event:", params.Definition.Name)}
	to := params.Email
	if c := params.Customer; to == "" && c != nil {
		if to = c.Email; to == "" {
			to = c.CustomerID
		}
	}
	terms = append(terms, termOf("to:", to))
	isRequired := func(p messaging.EventParameter) bool { return p.Required }
	anyRequired := slices.ContainsFunc(params.Definition.Parameters, isRequired)
	for _, p := range params.Definition.Parameters {
		if p.Required || !anyRequired {
			terms = append(terms, termsOfValue("", p.Name, params.Values[p.Name])...)
		}
	}
	return terms
}
