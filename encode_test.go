package messaging_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

// customersWithDevices are as many customers, no two of them alike.
func customersWithDevices(n int) []messaging.CustomerParams {
	customers := make([]messaging.CustomerParams, n)
	for i := range customers {
		customers[i] = messaging.CustomerParams{
			CustomerID: fmt.Sprintf("%0*d", 1+i%40, i), Email: fmt.Sprintf("jane+%d@example.com", i), FirstName: `Jane "J" <&>`, PhoneNo: "+331",
			Devices: []messaging.Device{{DeviceType: "ios", DeviceToken: fmt.Sprint("token ", i)}, {DeviceType: "android"}},
		}
	}
	return customers
}

func TestEncodeWritesEveryRecipient(t *testing.T) {
	g := scripted.NewGate(t)
	for _, n := range []int{1, 2, 99, 100, 101, 102, 1000} {
		t.Run(fmt.Sprint(n, " customers"), func(t *testing.T) {
			customers := customersWithDevices(n)
			var sent struct{ Recipients []messaging.Recipient }
			body := g.RequireSent(t, pushTo(messaging.ToEach(messaging.ToSegments("vip"), messaging.ToCustomers(customers...))))
			require.NoError(t, json.Unmarshal([]byte(body), &sent))

			assert.Equal(t, []messaging.Recipient{
				{Type: messaging.RecipientSegment, Segments: []string{"vip"}},
				{Type: messaging.RecipientCustomer, Customers: customers},
			}, sent.Recipients)
		})
	}
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

// skipUnderRace skips a test that counts allocations: under the race detector,
// sync.Pool drops items at random.
func skipUnderRace(t *testing.T) {
	t.Helper()
	build, ok := debug.ReadBuildInfo()
	require.True(t, ok)
	if slices.Contains(build.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		t.Skip("the race detector changes the number of allocations")
	}
}

func TestEncodeAllocationsDoNotGrowWithCustomers(t *testing.T) {
	skipUnderRace(t)
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
	skipUnderRace(t)
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

func TestDecodeTakesLessThanOneAllocationPerRow(t *testing.T) {
	skipUnderRace(t)
	listing := func(rows int) float64 {
		client := scripted.NewClientOver(t, "https://api.example.com", (&measuringTransport{answer: pageOfCustomers(rows)}).client())
		return testing.AllocsPerRun(5, func() {
			page, err := client.Customers.List(t.Context(), messaging.CustomerListParams{PerPage: rows})
			require.NoError(t, err)
			require.Len(t, page.Items, rows)
		})
	}
	assert.Less(t, (listing(1000)-listing(200))/800, 0.7)
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

// pageOfCustomers is the response to a list, with customers that have everything.
func pageOfCustomers(rows int) string {
	var page strings.Builder
	page.WriteString(`{"success":true,"message":"fetched","data":{"data":[`)
	for i := range rows {
		if i > 0 {
			page.WriteByte(',')
		}
		fmt.Fprintf(&page,
			`{"customer_id":"cus_%d","first_name":"Jane","last_name":"Doe","email":"jane+%d@example.com","phone_no":"+33612345678",`+
				`"customer_created_at":"2024-01-31T08:00:00Z","updated_at":"2024-02-01T08:00:00Z","providers":"email,push",`+
				`"last_interaction":"2024-02-28T08:00:00Z"}`, i, i)
	}
	page.WriteString(`],"meta":{"has_next_page":false,"next_page_cursor":null}}}`)
	return page.String()
}
