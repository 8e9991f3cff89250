package golden

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging-gen/internal/generate/golden/values"
	"github.com/messaging-go/messaging/messagingtest"
)

var at = time.Date(2030, time.May, 1, 11, 0, 0, 999, time.FixedZone("", 2*60*60))

// complete has every required field.
var complete = values.Everything{Text: "t", Number: values.Int(0), At: at, List: []string{"a", "b"}}

func bind(t *testing.T, definitions []messaging.Event) (*values.Events, *messagingtest.Server) {
	service := messagingtest.NewServer(t)
	service.AddEvents(definitions...)
	events, err := values.Bind(t.Context(), service.Client())
	require.NoError(t, err)
	return events, service
}

// payload returns the payload of an event for ann@example.com.
func payload(t *testing.T, p messaging.EventTriggerParams) string {
	prepared, err := p.Prepare()
	require.NoError(t, err)
	var body struct {
		Payload map[string]json.RawMessage
	}
	require.NoError(t, json.Unmarshal(prepared.Body(), &body))
	delete(body.Payload, "email")
	text, err := json.Marshal(body.Payload)
	require.NoError(t, err)
	return string(text)
}

func TestValuesAreSentAsTheirTypesDemand(t *testing.T) {
	events, service := bind(t, values.Definitions())
	ann := values.To("ann@example.com")

	assert.Equal(t, `{"at":"2030-05-01T09:00:00Z","list":["a","b"],"note":"","number":0,"text":"t"}`,
		payload(t, events.EverythingParams(ann, complete)), "what is optional is left out")
	v := complete
	v.Note, v.OptionalText, v.OptionalNumber, v.OptionalAt, v.OptionalList = "n", new(""), values.Decimal("12.30"), new(at), "o"
	assert.Equal(t, `{"at":"2030-05-01T09:00:00Z","list":["a","b"],"note":"n","number":0,"optional_at":"2030-05-01T09:00:00Z",`+
		`"optional_list":"o","optional_number":12.30,"optional_text":"","text":"t"}`, payload(t, events.EverythingParams(ann, v)))
	assert.Equal(t, `{}`, payload(t, events.NothingParams(ann, values.Nothing{})))
	assert.Equal(t, `{"note":""}`, payload(t, events.EmptyTextParams(ann, values.EmptyText{})))

	_, err := events.Everything(t.Context(), ann, v)
	require.NoError(t, err)
	_, err = events.Nothing(t.Context(), values.ToCustomer(messaging.CustomerParams{CustomerID: "4711"}), values.Nothing{})
	require.NoError(t, err)
	require.Len(t, service.Triggers(), 2)
	assert.Empty(t, service.Triggers()[0].Skipped)
	assert.Equal(t, "ann@example.com", service.Triggers()[0].Params.Email)
	assert.Equal(t, "4711", service.Triggers()[1].Params.Customer.CustomerID)
}

func TestForgottenFieldIsReportedAndNothingIsSent(t *testing.T) {
	definitions := values.Definitions()
	for _, event := range definitions {
		for i := range event.Parameters {
			event.Parameters[i].Required = false // the account no longer demands it, but the code does
		}
	}
	events, service := bind(t, definitions)

	_, err := events.Everything(t.Context(), values.Recipient{}, values.Everything{})

	invalid := new(messaging.ValidationError)
	require.ErrorAs(t, err, &invalid)
	var fields []string
	for _, f := range invalid.Fields {
		fields = append(fields, f.Field)
	}
	assert.ElementsMatch(t, []string{"payload.email", "payload.at", "payload.list", "payload.number", "payload.text",
		"payload.email"}, fields, "but not the text that may be empty")
	assert.Empty(t, service.Triggers())
}

func TestNumberIsSentWithEveryDigit(t *testing.T) {
	type cents uint16
	events, _ := bind(t, values.Definitions())
	for want, number := range map[string]values.Number{
		"0":                    values.Int(0),
		"-7":                   values.Int(int8(-7)),
		"65535":                values.Int(cents(65535)),
		"9007199254740993":     values.Int(uint64(1<<53 + 1)),
		"18446744073709551615": values.Int(uint64(math.MaxUint64)),
		"0.1":                  values.Float(0.1),
		"12.30":                values.Decimal("12.30"),
	} {
		v := complete
		v.Number = number
		assert.Contains(t, payload(t, events.EverythingParams(values.To("ann@example.com"), v)), `"number":`+want+`,`)
	}
	for _, number := range []values.Number{values.Decimal("abc"), values.Decimal(""), values.Decimal("1,5"), values.Float(math.NaN())} {
		v := complete
		v.OptionalNumber = number
		_, err := events.EverythingParams(values.To("ann@example.com"), v).Prepare()
		assert.ErrorIs(t, err, messaging.ErrValidation)
		assert.ErrorContains(t, err, "payload.optional_number ")
	}
}

// An event can be stored as JSON in a queue.
func TestNumberSurvivesJSON(t *testing.T) {
	assert.Equal(t, values.Int(2), values.Int(int8(2)))
	stored, err := json.Marshal(values.Everything{Number: values.Decimal("12.30")})
	require.NoError(t, err)
	assert.Contains(t, string(stored), `"Number":12.30`)
	assert.Contains(t, string(stored), `"OptionalNumber":null`)
	v := complete
	v.OptionalNumber = values.Int(1)
	require.NoError(t, json.Unmarshal(stored, &v))
	assert.Equal(t, values.Decimal("12.30"), v.Number)
	assert.Equal(t, values.Number{}, v.OptionalNumber)

	_, err = json.Marshal(values.Decimal(""))
	assert.Error(t, err, "it is not 0")
	assert.Error(t, json.Unmarshal([]byte(`{"Number": true}`), &v))
}
