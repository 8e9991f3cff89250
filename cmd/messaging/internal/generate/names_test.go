package generate

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/definitions"
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
		"a\u202eb":           "AB",
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
		list = append(list, messaging.EventCreateParams{Name: name})
	}
	return parse(t, string(list.JSON()))
}

// eventWith returns the definition of an event called E with optional texts.
func eventWith(t testing.TB, names ...string) definitions.List {
	e := messaging.EventCreateParams{Name: "E"}
	for _, name := range names {
		e.Parameters = append(e.Parameters, messaging.EventParameter{Name: name, Type: messaging.ParameterText})
	}
	return parse(t, string(definitions.List{e}.JSON()))
}

func TestNameThatIsImpossibleNeedsALine(t *testing.T) {
	long := strings.Repeat("long", 75)
	tests := []struct {
		name   string
		list   definitions.List
		config string
		want   []string
	}{
		{"two events meet", eventsNamed(t, "Order shipped", "order-shipped", "order shipped"), "",
			[]string{`"order shipped" = "OrderShipped2" # event "order shipped" needs the name OrderShipped, like event "Order shipped"`,
				`"order-shipped" = "OrderShipped3" # event "order-shipped" needs the name OrderShipped, like event "Order shipped"`}},
		{"the name of a derived method", eventsNamed(t, "A", "A params"), "",
			[]string{`"A params" = "AParams2" # event "A params" needs the name AParams, like event "A"`}},
		{"a name of every package", eventsNamed(t, "Number", "to customer"), "",
			[]string{`"Number" = "Number2" # event "Number" needs the name Number, which every package has`,
				`"to customer" = "ToCustomer2" # event "to customer" needs the name ToCustomer, which every package has`}},
		{"a name of the standard library", eventsNamed(t, "read-byte", "scan"), "",
			[]string{`"read-byte" = "ReadByte2" # event "read-byte" needs the name ReadByte, which go vet reserves`}},
		{"no letter", eventsNamed(t, "!?", "…"), "",
			[]string{`"!?" = "Unnamed" # event "!?" has no letter and no digit`, `"…" = "Unnamed2" # event "…" has no letter and no digit`}},
		{"300 characters", eventsNamed(t, long), "",
			[]string{`"` + long + `" = "Longlonglonglonglonglonglonglongl" # event "` + long + `" is too long for a name in Go`}},
		{"hidden characters", eventsNamed(t, "a\u202eb", "c\nd", "\u3164"), "",
			[]string{`"a\u202eb" = "AB" # event "a\u202eb" has a character that cannot be seen`,
				`"c\u000ad" = "CD" # event "c\u000ad" has a character that cannot be seen`,
				`"\u3164" = "Unnamed" # event "\u3164" has a character that cannot be seen`}},
		{"a rename to a keyword", eventsNamed(t, "A"), `rename = {"A" = "type"}`,
			[]string{`"A" = "Type" # event "A" cannot be "type", which is no exported name in Go`}},
		{"a rename to code", eventsNamed(t, "A"), `rename = {"A" = "A()\n{"}`,
			[]string{`"A" = "A" # event "A" cannot be "A()\u000a{", which is no exported name in Go`}},
		{"a rename that is too long", eventsNamed(t, "A"), `rename = {"A" = "X` + long + `"}`,
			[]string{`"A" = "Xlonglonglonglonglonglonglonglong" # event "A" has a name that is too long`}},
		{"two renames that meet", eventsNamed(t, "A", "B"), `rename = {"A" = "C", "B" = "C"}`,
			[]string{`"B" = "C2" # event "B" needs the name C, like event "A"`}},
		{"two parameters meet", eventWith(t, "host-fqdn", "host.fqdn", "host"), "",
			[]string{`"E.host.fqdn" = "HostFQDN2" # parameter "host.fqdn" of event "E" needs the name HostFQDN, like ` +
				`parameter "host-fqdn" of event "E"`}},
		{"an event and its parameter", eventWith(t, "!"), `rename = {"E" = "To"}`,
			[]string{`"E" = "To2" # event "E" needs the name To, which every package has`,
				`"E.!" = "Unnamed" # parameter "!" of event "E" has no letter and no digit`}},
		{"a derived name makes way for a rename", eventsNamed(t, "A", "B"), `rename = {"B" = "A"}`,
			[]string{`"A" = "A2" # event "A" needs the name A, like event "B"`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := Config{Path: "gen.toml"}
			require.NoError(t, c.parse(test.config))

			_, _, err := Code(test.list, c, "events", "events.json")

			want := append([]string{"write in gen.toml, under [rename], with names of your choice:"}, test.want...)
			require.EqualError(t, err, strings.Join(want, "\n"))
		})
	}
}
