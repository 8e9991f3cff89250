package hostile_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

// storedSeeds are stored forms of a Prepared: valid ones, and ones that guards must not
// take for something else.
var storedSeeds = []struct{ operation, body string }{
	{"send email broadcast", `{"email":"a@b.c","cc":["d@e.f"],
		"recipients":{"type":"customer","customers":[{"customer_id":"c","email":"g@h.i"}]}}`},
	{"send push broadcast", `{"all_customers":true,
		"recipients":[{"type":"segment","segments":["s"]},{"type":"customer","customers":[{"email":"a@b.c"}]}]}`},
	{"send push broadcast", `{"recipients":{"type":"customer",
		"customers":[{"email":"a@b.c","Email":"d@e.f","phone_no":"+1","devices":[{}]}]}}`},
	{"trigger event", `{"event_id":"e","payload":{"email":"a@b.c","customer":{"customer_id":"c"},"deep":[[[{}]]]}}`},
	{"create event", `{"name":"n","description":"d","parameters":[]}`},
	{"create event", `{"name":"\ud800","all_customers":true}`}, {"do", `{}`}, {"trigger event", `[`}, {"", ``},
}

// addSeeds adds storedSeeds, and the requests of every send.
func addSeeds(f *testing.F, add func(operation, body string)) {
	for _, seed := range storedSeeds {
		add(seed.operation, seed.body)
	}
	for _, send := range scripted.Sends() {
		for _, build := range send.Requests {
			p, err := build().Prepare()
			require.NoError(f, err)
			add(p.Operation(), string(p.Body()))
		}
	}
}

// What ParsePrepared takes is kept as it is, and whoever encoding/json finds in the body is
// among the recipients, or there is an error.
func FuzzStoredPrepared(f *testing.F) {
	addSeeds(f, func(operation, body string) { f.Add(operation, []byte(body)) })
	f.Fuzz(func(t *testing.T, operation string, body []byte) {
		p, err := messaging.ParsePrepared(operation, body)
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
			return
		}
		require.Equal(t, operation, p.Operation())
		require.Equal(t, string(body), string(p.Body()))
		found, err := p.Recipients()
		if err != nil {
			require.Equal(t, messaging.Recipients{}, found)
			return
		}
		var document map[string]any
		require.NoError(t, json.Unmarshal(p.Body(), &document))
		if document["all_customers"] == true {
			require.True(t, found.Everyone)
		}
		payload, _ := document["payload"].(map[string]any)
		for _, holder := range []map[string]any{document, payload} {
			requireAmong(t, found.Emails, holder["email"])
			requireAmong(t, found.Emails, holder["cc"])
			requireAmong(t, found.Emails, holder["bcc"])
			requireReached(t, found, holder["recipients"])
		}
		requireReached(t, found, payload["customer"])
	})
}

// requireReached requires that every customer and segment within a value is found.
func requireReached(t *testing.T, found messaging.Recipients, value any) {
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			requireReached(t, found, element)
		}
	case map[string]any:
		requireAmong(t, found.CustomerIDs, value["customer_id"])
		requireAmong(t, found.Emails, value["email"])
		requireAmong(t, found.Phones, value["phone_no"])
		requireAmong(t, found.Segments, value["segments"])
		requireReached(t, found, value["customers"])
	}
}

// requireAmong requires that a string, or each string of a list, is in a list.
func requireAmong(t *testing.T, list []string, value any) {
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			requireAmong(t, list, element)
		}
	case string:
		if value != "" {
			require.Contains(t, list, value)
		}
	}
}
