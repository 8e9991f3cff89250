package golden

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging-gen/internal/generate/golden/values"
)

// events returns the same event in two ways: with generated code, and with a map. One has
// all parameters, the other only those that are required.
func events(tb testing.TB) (all, required struct {
	generated, byHand func() messaging.EventTriggerParams
}) {
	service := newService(tb)
	bound, err := values.Bind(tb.Context(), service.Client())
	require.NoError(tb, err)
	definition, err := service.Client().Events.GetByName(tb.Context(), "everything")
	require.NoError(tb, err)
	words, note := []string{"a", "b"}, "o"
	all.generated = func() messaging.EventTriggerParams {
		return bound.EverythingParams(values.To("ann@example.com"), values.Everything{
			Text:           "t",
			Note:           "n",
			Number:         values.Int(1234),
			At:             at,
			List:           words,
			OptionalText:   &note,
			OptionalNumber: values.Decimal("12.30"),
			OptionalAt:     &at,
			OptionalList:   words,
		})
	}
	all.byHand = func() messaging.EventTriggerParams {
		return messaging.EventTriggerParams{Definition: definition, Email: "ann@example.com", Values: map[string]any{
			"text":            "t",
			"note":            "n",
			"number":          1234,
			"at":              at,
			"list":            words,
			"optional_text":   note,
			"optional_number": json.Number("12.30"),
			"optional_at":     at,
			"optional_list":   words,
		}}
	}
	required.generated = func() messaging.EventTriggerParams {
		return bound.EverythingParams(values.To("ann@example.com"), values.Everything{
			Text:   "t",
			Note:   "n",
			Number: values.Int(1234),
			At:     at,
			List:   words,
		})
	}
	required.byHand = func() messaging.EventTriggerParams {
		return messaging.EventTriggerParams{Definition: definition, Email: "ann@example.com", Values: map[string]any{
			"text":   "t",
			"note":   "n",
			"number": 1234,
			"at":     at,
			"list":   words,
		}}
	}
	return all, required
}

func TestGeneratedCodeAllocatesLittle(t *testing.T) {
	prepare := func(event func() messaging.EventTriggerParams) (body string, allocations float64) {
		p, err := event().Prepare()
		require.NoError(t, err)
		return string(p.Body()), testing.AllocsPerRun(200, func() { _, _ = event().Prepare() })
	}
	all, required := events(t)
	for _, event := range []struct {
		generated, byHand func() messaging.EventTriggerParams
	}{all, required} {
		body, allocations := prepare(event.generated)
		bodyByHand, allocationsByHand := prepare(event.byHand)
		assert.Equal(t, bodyByHand, body)
		assert.LessOrEqual(t, allocations-allocationsByHand, 6.)
	}
}
