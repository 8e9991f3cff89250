package golden

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/generate/golden/values"
)

// both returns two functions that return the same event: with generated code, and with a
// map.
func both(tb testing.TB) (generated, byHand func() messaging.EventTriggerParams) {
	service := newService(tb)
	events, err := values.Bind(tb.Context(), service.Client())
	require.NoError(tb, err)
	definition, err := service.Client().Events.GetByName(tb.Context(), "everything")
	require.NoError(tb, err)
	words, note := []string{"a", "b"}, "o"
	generated = func() messaging.EventTriggerParams {
		return events.EverythingParams(values.To("ann@example.com"), values.Everything{
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
	byHand = func() messaging.EventTriggerParams {
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
	return generated, byHand
}

func TestGeneratedCodeAllocatesLittle(t *testing.T) {
	var bodies []string
	var allocations []float64
	prepare := func(event func() messaging.EventTriggerParams) {
		p, err := event().Prepare()
		require.NoError(t, err)
		bodies = append(bodies, string(p.Body()))
		allocations = append(allocations, testing.AllocsPerRun(200, func() { _, _ = event().Prepare() }))
	}
	generated, byHand := both(t)
	prepare(generated)
	prepare(byHand)
	assert.Equal(t, bodies[1], bodies[0])
	assert.LessOrEqual(t, allocations[0]-allocations[1], 6.)
}

// What follows, from the validation to the response, is the same for both.
func BenchmarkParams(b *testing.B) {
	generated, byHand := both(b)
	for _, one := range []struct {
		name  string
		event func() messaging.EventTriggerParams
	}{{"generated", generated}, {"by hand", byHand}} {
		b.Run(one.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				one.event()
			}
		})
	}
}
