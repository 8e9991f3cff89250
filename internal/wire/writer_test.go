package wire_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/scripted"
	"github.com/messaging-go/messaging/internal/wire"
)

// customersWithDevices are as many customers, no two of them alike.
func customersWithDevices(n int) []messaging.CustomerParams {
	customers := make([]messaging.CustomerParams, n)
	for i := range customers {
		customers[i] = messaging.CustomerParams{
			CustomerID: fmt.Sprintf("%0*d", 1+i%40, i), Email: fmt.Sprintf("jane+%d@example.com", i), FirstName: `Jane "J" <&>`, PhoneNo: "+331",
			Devices: []messaging.Device{{Type: "ios", Token: fmt.Sprint("token ", i)}, {Type: "android", Token: "<&>"}},
		}
	}
	return customers
}

func pushTo(to messaging.Audience) scripted.Call {
	return func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
		_, err := c.Broadcasts.SendPush(ctx, messaging.PushBroadcastParams{Subject: "Sale", Message: "Today only.", To: to}, opts...)
		return err
	}
}

// recipient is one of the recipients of a broadcast, as the service reads it.
type recipient struct {
	Type      string
	Customers []messaging.CustomerParams
	Segments  []string
}

func TestEncodeWritesEveryRecipient(t *testing.T) {
	g := scripted.NewGate(t)
	for _, n := range []int{1, 2, 99, 100, 101, 102, 1000} {
		t.Run(fmt.Sprint(n, " customers"), func(t *testing.T) {
			customers := customersWithDevices(n)
			var sent struct{ Recipients []recipient }
			body := g.RequireSent(t, pushTo(messaging.ToEach(messaging.ToSegments("vip"), messaging.ToCustomers(customers...))))
			require.NoError(t, json.Unmarshal([]byte(body), &sent))

			assert.Equal(t, []recipient{
				{Type: "segment", Segments: []string{"vip"}},
				{Type: "customer", Customers: customers},
			}, sent.Recipients)
		})
	}
}

// asEncodingJSON returns what encoding/json writes, without HTML escaping.
func asEncodingJSON(t *testing.T, v any) string {
	t.Helper()
	var body strings.Builder
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	require.NoError(t, encoder.Encode(v))
	return strings.TrimSuffix(body.String(), "\n")
}

func requireText(t *testing.T, s string) {
	t.Helper()
	w := wire.NewWriter()
	w.Begin()
	w.TextMember("text", s)
	w.Name("again")
	w.Text(s)
	w.End()
	body, err := w.Finish()
	require.NoError(t, err)
	text := asEncodingJSON(t, s)
	require.Equal(t, `{"text":`+text+`,"again":`+text+`}`, string(body))
}

func TestWriterWritesTextsAsEncodingJSONDoes(t *testing.T) {
	for c := range 256 {
		requireText(t, string([]byte{byte(c)}))
		requireText(t, string([]byte{'a', byte(c), 'b'}))
	}
	for c := range rune(0x3000) {
		requireText(t, "é"+string(c)+"b")
	}
	for _, s := range []string{"", "{", "\xE2\x80", "a\xE2", "\u2029\u2028", "\uFEFF", "\uFFFD", "\uFFFD\xFF", "\U0010FFFF", "\xED\xA0\x80"} {
		requireText(t, s)
	}
}

func FuzzWriterText(f *testing.F) {
	for _, s := range []string{"jane", `Jane "J" <&>`, "José\n", "\u2028", "\xFF", `\u0041`} {
		f.Add(s)
	}
	f.Fuzz(requireText)
}

func TestEncodeWritesCustomersAsEncodingJSONDoes(t *testing.T) {
	g := scripted.NewGate(t)
	optional := reflect.TypeFor[messaging.CustomerParams]().NumField()
	texts := []string{"jane@example.com", `Jane "J" <&>`, "José\u2028", "\xFF"}
	for subset := range 1 << optional {
		var customer messaging.CustomerParams
		for i := range optional {
			field := reflect.ValueOf(&customer).Elem().Field(i)
			switch {
			case subset>>i&1 == 0:
			case field.Kind() == reflect.String:
				field.SetString(texts[i%len(texts)])
			default:
				field.Set(reflect.ValueOf([]messaging.Device{{}, {Type: texts[i%len(texts)], Token: "token"}}))
			}
		}
		body := g.RequireSent(t, pushTo(messaging.ToCustomers(customer, customer)), messaging.WithoutValidation())
		written := asEncodingJSON(t, customer)
		require.Contains(t, body, `"recipients":{"type":"customer","customers":[`+written+","+written+`]}}`)
	}
}

func TestFormatTimeLosesNoPartOfATime(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, row := range []struct {
		at                          time.Time
		rfc3339, local, microsecond string
	}{
		{at: time.Time{}},
		{at, "2026-01-02T03:04:05Z", "2026-01-02 03:04:05", "2026-01-02T03:04:05.000000Z"},
		{at.In(time.FixedZone("", 3600)), "2026-01-02T03:04:05Z", "2026-01-02 03:04:05", "2026-01-02T03:04:05.000000Z"},
		{at.Add(100 * time.Microsecond), "2026-01-02T03:04:05.0001Z", "2026-01-02T03:04:05.0001Z", "2026-01-02T03:04:05.000100Z"},
		{at.Add(1), "2026-01-02T03:04:05.000000001Z", "2026-01-02T03:04:05.000000001Z", "2026-01-02T03:04:05.000000001Z"},
		{at.AddDate(8000, 0, 0), "10026-01-02T03:04:05Z", "10026-01-02T03:04:05Z", "10026-01-02T03:04:05Z"},
	} {
		for form, want := range map[string]string{time.RFC3339: row.rfc3339, wire.LocalForm: row.local, wire.MicrosecondForm: row.microsecond} {
			assert.Equal(t, want, wire.FormatTime(row.at, form))
			assert.Equal(t, "a"+want, string(wire.AppendTime([]byte("a"), row.at, form)))
		}
	}
}

func TestWriterIsEmptyAfterWriteTo(t *testing.T) {
	w := wire.NewWriter()
	var found strings.Builder
	for range 2 {
		w.Begin()
		w.TextMember("name", "Ada")
		w.TimeMember("at", time.Unix(0, 0), time.RFC3339)
		w.TimeMember("never", time.Time{}, time.RFC3339)
		w.End()
		n, err := w.WriteTo(&found)
		require.NoError(t, err)
		assert.Equal(t, int64(len(`{"name":"Ada","at":"1970-01-01T00:00:00Z"}`)), n)
	}
	assert.Equal(t, strings.Repeat(`{"name":"Ada","at":"1970-01-01T00:00:00Z"}`, 2), found.String())
	w.Value(func() {})
	_, err := w.WriteTo(&found)
	require.Error(t, err)
	w.Text("b")
	_, err = w.WriteTo(&found)
	require.NoError(t, err, "an error is reported once")
	assert.True(t, strings.HasSuffix(found.String(), `}"b"`))
}

func TestEncodeDoesNotReuseABodyInUse(t *testing.T) {
	var bodies []string
	var client *messaging.Client
	send := func(segment string) {
		_, err := client.Broadcasts.SendPush(t.Context(),
			messaging.PushBroadcastParams{Subject: "Sale", Message: "Today only.", To: messaging.ToSegments(segment)})
		require.NoError(t, err)
	}
	calls := 0
	client = scripted.NewClientOver(t, "https://api.example.com",
		&http.Client{Transport: scripted.RoundTripper(func(req *http.Request) (*http.Response, error) {
			if calls++; calls == 1 {
				send("second")
			}
			body, err := io.ReadAll(req.Body)
			bodies = append(bodies, string(body))
			require.NoError(t, err)
			return scripted.Responds(http.StatusOK, scripted.Success)(req)
		})})
	send("first")
	require.Len(t, bodies, 2)
	assert.Contains(t, bodies[0], "second")
	assert.Contains(t, bodies[1], "first")
}

func TestEncodeAllocationsDoNotGrowWithCustomers(t *testing.T) {
	scripted.SkipUnderRace(t)
	client := scripted.NewClientOver(t, "https://api.example.com", (&measuringTransport{}).client())
	sending := func(customers int) float64 {
		params := messaging.PushBroadcastParams{Subject: "Sale", Message: "Today only.",
			To: messaging.ToCustomers(customersWithDevices(customers)...)}
		return testing.AllocsPerRun(5, func() {
			_, err := client.Broadcasts.SendPush(t.Context(), params)
			require.NoError(t, err)
		})
	}
	assert.Less(t, sending(2000)-sending(1000), 100.0)
}

func TestEncodeMemoryIsBoundedByTheBody(t *testing.T) {
	scripted.SkipUnderRace(t)
	long, short := customersWithDevices(20_000), customersWithDevices(20_000)
	for i := range 100 {
		long[i].FirstName = strings.Repeat("J", 10_000)
	}
	tests := []struct {
		name      string
		customers []messaging.CustomerParams
		most      func(body int) int
	}{
		{"that is of medium length", short[:4000], func(body int) int { return body * 3 / 2 }},
		{"that is long", short, func(body int) int { return body * 3 / 2 }},
		{"that begins with the longest", long, func(body int) int { return body + 70<<20 }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			transport := new(measuringTransport)
			client := scripted.NewClientOver(t, "https://api.example.com", transport.client())
			params := messaging.PushBroadcastParams{Subject: "Sale", Message: "Today only.", To: messaging.ToCustomers(test.customers...)}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := client.Broadcasts.SendPush(t.Context(), params)
			runtime.ReadMemStats(&after)
			require.NoError(t, err)
			assert.Less(t, int(after.TotalAlloc-before.TotalAlloc), test.most(transport.lengths[0]))
		})
	}
}

// measuringTransport keeps the length of every body, and answers alike.
type measuringTransport struct {
	answer  string // "" for a yes
	lengths []int
}

func (m *measuringTransport) client() *http.Client { return &http.Client{Transport: m} }

func (m *measuringTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	m.lengths = append(m.lengths, int(req.ContentLength))
	return scripted.Responds(http.StatusOK, cmp.Or(m.answer, scripted.Success))(req)
}
