package generate

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging-gen/internal/definitions"
)

func TestGoNameHasTheWordsOfTheName(t *testing.T) {
	for name, want := range map[string]string{
		"Order shipped":      "OrderShipped",
		"order_shipped":      "OrderShipped",
		"order--shipped!":    "OrderShipped",
		"orderShipped":       "OrderShipped",
		"order id":           "OrderID",
		"invoice-url":        "InvoiceURL",
		"host-fqdn":          "HostFQDN",
		"idea":               "Idea",
		"VAT rate":           "VATRate",
		"2nd order":          "N2ndOrder",
		"step 2":             "Step2",
		"type":               "Type",
		"größe":              "Größe",
		"ßtraße":             "Nßtraße",
		"注文":                 "N注文",
		"ǆungla":             "Ǆungla",
		"cafe\u0301 au lait": "CafeAuLait",
		"a\u202eb":           "AB", // it has a mark that cannot be seen
		"!?":                 "",
		"":                   "",
	} {
		assert.Equal(t, want, goName(name), "%q", name)
	}
}

func parse(t testing.TB, text string) definitions.List {
	list, err := definitions.Parse("events.json", []byte(text))
	require.NoError(t, err)
	return list
}

// eventsNamed returns definitions of events without parameters.
func eventsNamed(t testing.TB, names ...string) (list definitions.List) {
	for _, name := range names {
		list = append(list, definitions.Event{Name: name, Parameters: []definitions.Parameter{}})
	}
	return parse(t, list.JSON())
}

// eventWith returns the definition of an event called E with optional texts.
func eventWith(t testing.TB, names ...string) definitions.List {
	e := definitions.Event{Name: "E"}
	for _, name := range names {
		e.Parameters = append(e.Parameters, definitions.Parameter{Name: name, Type: messaging.ParameterText})
	}
	return parse(t, definitions.List{e}.JSON())
}

func TestNameThatIsImpossibleNeedsALine(t *testing.T) {
	tests := []struct {
		name    string
		list    definitions.List
		config  string
		reasons []string
		renames []string
	}{
		{"three events meet", eventsNamed(t, "Order shipped", "order\u202eshipped", "order\nshipped"), `{}`,
			[]string{`event "order\nshipped" needs the name OrderShipped, like event "Order shipped"`,
				`event "order\u202eshipped" needs the name OrderShipped, like event "Order shipped"`},
			[]string{`"order\nshipped": "OrderShipped2"`, `"order\u202eshipped": "OrderShipped3"`}},
		{"the name of a derived method", eventsNamed(t, "A", "A params"), `{}`,
			[]string{`event "A params" needs the name AParams, like event "A"`}, []string{`"A params": "AParams2"`}},
		{"names of every package", eventsNamed(t, "Number", "to customer"), `{}`,
			[]string{`event "Number" needs the name Number, which every package has`,
				`event "to customer" needs the name ToCustomer, which every package has`},
			[]string{`"Number": "Number2"`, `"to customer": "ToCustomer2"`}},
		{"no letter", eventsNamed(t, "!?", "\u202e"), `{}`,
			[]string{`event "!?" has no letter and no digit`, `event "\u202e" has no letter and no digit`},
			[]string{`"!?": "Unnamed"`, `"\u202e": "Unnamed2"`}},
		{"a rename to a keyword", eventsNamed(t, "A"), `{"rename": {"A": "type"}}`,
			[]string{`event "A" cannot be "type", which is no exported name in Go`}, []string{`"A": "Type"`}},
		{"a rename to code", eventsNamed(t, "A"), `{"rename": {"A": "A()\n{"}}`,
			[]string{`event "A" cannot be "A()\n{", which is no exported name in Go`}, []string{`"A": "A"`}},
		{"two renames that meet", eventsNamed(t, "A", "B"), `{"rename": {"A": "C", "B": "C"}}`,
			[]string{`event "B" needs the name C, like event "A"`}, []string{`"A": "C"`, `"B": "C2"`}},
		{"two parameters meet", eventWith(t, "host-fqdn", "host.fqdn", "host"), `{}`,
			[]string{`parameter "host.fqdn" of event "E" needs the name HostFQDN, like parameter "host-fqdn" of event "E"`},
			[]string{`"E.host.fqdn": "HostFQDN2"`}},
		{"an event and its parameter", eventWith(t, "!"), `{"rename": {"E": "To"}}`,
			[]string{`event "E" needs the name To, which every package has`, `parameter "!" of event "E" has no letter and no digit`},
			[]string{`"E": "To2"`, `"E.!": "Unnamed"`}},
		{"a derived name makes way for a rename", eventsNamed(t, "A", "B"), `{"rename": {"B": "A"}}`,
			[]string{`event "A" needs the name A, like event "B"`}, []string{`"A": "A2"`, `"B": "A"`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, _, err := code(test.list, configOf(t, test.config), "events", "events.json")

			require.EqualError(t, err, strings.Join(test.reasons, "\n")+
				"\nwrite in gen.json, with names of your choice:\n\"rename\": {\n  "+strings.Join(test.renames, ",\n  ")+"\n}")
		})
	}
}
