package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/messaging-go/messaging/cmd/messaging/internal/confirm"
	"github.com/messaging-go/messaging/cmd/messaging/internal/mail"
	"github.com/messaging-go/messaging/cmd/messaging/internal/oddity"
	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// excerpt is how many characters of a message the plan shows.
const excerpt = 160

// describeText adds the subject, the beginning of the message and the hosts of its links to a plan,
// and what looks like a mistake in them. text is what readers see of the message.
func describeText(plan *confirm.Plan, doubt doubting, subject, message, text string, variables map[string]json.RawMessage) {
	plan.Add("subject", subject)
	text = strings.Join(strings.Fields(text), " ")
	shown := words.Shortened(text, excerpt)
	if shown != text {
		shown += " (" + words.Count(len([]rune(text)), "character") + ")"
	}
	if text == "" {
		shown = "without text"
	}
	if message != "" {
		plan.Add("message", shown)
		describeGiven(plan, "links to", words.Shortened(strings.Join(hostsOf(message), ", "), excerpt))
	}
	for _, odd := range oddity.Message(subject, message) {
		doubt("%s", odd)
	}
	for _, name := range mail.Placeholders(subject, message) {
		switch {
		case mail.Variable(variables, name) != "":
		case mail.IsCustomerField(name), mail.IsServiceField(name): // the service may fill it in
			plan.Warn("no variable is set for {{%s}}", visible.Text(name))
		default:
			doubt("no variable is set for {{%s}}", visible.Text(name))
		}
	}
	if block := mail.Block(subject, message); block != "" && len(variables) == 0 {
		doubt("no variable is set for %s", oddity.Quote(block))
	}
}

// hostsOf returns the hosts to which a message links, each once.
func hostsOf(message string) (hosts []string) {
	for _, link := range mail.Links(message) {
		to, err := url.Parse(link.URL)
		if err == nil && to.Host != "" && !slices.Contains(hosts, to.Host) {
			hosts = append(hosts, to.Host)
		}
	}
	return hosts
}

// describeVariables adds the variables of a template to a plan.
func describeVariables(plan *confirm.Plan, doubt doubting, variables map[string]json.RawMessage) {
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		if visible.IsBlank(name) {
			doubt("a variable has no name")
		}
		value := string(variables[name])
		plan.Add("variable", name+" = "+words.Shortened(value, excerpt))
		doubtVariable(doubt, name, variables[name])
	}
}

// doubtVariable adds what looks like a mistake in a variable, and in its members.
func doubtVariable(doubt doubting, name string, value json.RawMessage) {
	var text string
	var members map[string]json.RawMessage
	var elements []json.RawMessage
	switch err := json.Unmarshal(value, &text); {
	case string(value) == "null":
		doubt("the variable %s is null", name)
	case string(value) == "[]", string(value) == "{}", err == nil && visible.IsBlank(text):
		doubt("the variable %s is empty", name)
	case err == nil && oddity.Label(text) != "":
		doubt("the variable %s is %s, which %s", name, oddity.Quote(text), oddity.Label(text))
	case err != nil && json.Unmarshal(value, &members) == nil:
		for _, member := range slices.Sorted(maps.Keys(members)) {
			doubtVariable(doubt, name+"."+visible.Text(member), members[member])
		}
	case err != nil && json.Unmarshal(value, &elements) == nil:
		for i, element := range elements {
			doubtVariable(doubt, fmt.Sprintf("%s[%d]", name, i), element)
		}
	}
}

// doubtEach adds what looks like a mistake in the texts of a field, by why.
func doubtEach(doubt doubting, field string, why func(string) string, texts ...string) {
	for _, text := range texts {
		if is := why(text); is != "" {
			doubt("%s %s %s", field, oddity.Quote(text), is)
		}
	}
}

// describeGiven adds the texts that are not empty to a plan.
func describeGiven(plan *confirm.Plan, namesAndTexts ...string) {
	for pair := range slices.Chunk(namesAndTexts, 2) {
		if pair[1] != "" {
			plan.Add(pair[0], pair[1])
		}
	}
}
