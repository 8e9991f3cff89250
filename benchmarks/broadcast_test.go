package benchmarks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
)

// broadcastTo returns a broadcast to customers with two devices each.
func broadcastTo(customers int) messaging.EmailBroadcastParams {
	recipients := make([]messaging.CustomerParams, customers)
	for i := range recipients {
		p := newPerson(i)
		recipients[i] = messaging.CustomerParams{
			CustomerID: "cus_" + p.number, Email: p.email, FirstName: p.first, LastName: p.last, PhoneNo: p.phone,
			Devices: []messaging.Device{
				{Type: "ios", Token: fmt.Sprintf("%064x", 2*i)},
				{Type: "android", Token: fmt.Sprintf("%064x", 2*i+1)},
			},
		}
	}
	return messaging.EmailBroadcastParams{
		SenderEmail: "news@acme.test", SenderName: "Acme", Email: "news@acme.test", Subject: "We have moved",
		Message: "Our new address is on the website.", MessageType: "announcement", To: messaging.ToCustomers(recipients...),
	}
}

// plainBroadcast is the body of the same broadcast, independent of the SDK.
type plainBroadcast struct {
	SenderEmail string `json:"sender_email"`
	SenderName  string `json:"sender_name"`
	Email       string `json:"email"`
	Subject     string `json:"subject"`
	Message     string `json:"message"`
	MessageType string `json:"message_type"`
	Recipients  struct {
		Type      string          `json:"type"`
		Customers []plainCustomer `json:"customers"`
	} `json:"recipients"`
	ScheduleType string `json:"schedule_type"`
}

type plainCustomer struct {
	CustomerID string `json:"customer_id,omitempty"`
	Email      string `json:"email,omitempty"`
	FirstName  string `json:"first_name,omitempty"`
	LastName   string `json:"last_name,omitempty"`
	PhoneNo    string `json:"phone_no,omitempty"`
	Devices    []struct {
		Type  string `json:"device_type"`
		Token string `json:"device_token"`
	} `json:"devices,omitempty"`
}

func plainBroadcastTo(tb testing.TB, customers int) (plain plainBroadcast, body []byte) {
	tb.Helper()
	prepared, err := broadcastTo(customers).Prepare()
	require.NoError(tb, err)
	require.NoError(tb, json.Unmarshal(prepared.Body(), &plain))
	return plain, prepared.Body()
}

func TestPlainBroadcastIsTheBodyThatTheSDKSends(t *testing.T) {
	plain, body := plainBroadcastTo(t, 3)

	encoded, err := json.Marshal(plain)

	require.NoError(t, err)
	assert.JSONEq(t, string(body), string(encoded))
}

// preparing validates and encodes a broadcast.
func preparing(customers int) func(*testing.B) {
	return func(b *testing.B) {
		params := broadcastTo(customers)
		repeat(b, func() error {
			_, err := params.Prepare()
			return err
		})
	}
}

// encoding encodes the same body as fast as encoding/json can: without HTML escaping, and into a buffer that
// is large enough.
func encoding(customers int) func(*testing.B) {
	return func(b *testing.B) {
		plain, _ := plainBroadcastTo(b, customers)
		body := new(bytes.Buffer)
		encoder := json.NewEncoder(body)
		encoder.SetEscapeHTML(false)
		repeat(b, func() error {
			body.Reset()
			return encoder.Encode(&plain)
		})
	}
}

// repeat measures calls after a first one, which leaves large buffers in pools. What was needed to
// make the data is collected before.
func repeat(b *testing.B, call func() error) {
	b.Helper()
	runtime.GC()
	require.NoError(b, call())
	b.ReportAllocs()
	for b.Loop() {
		if err := call(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPrepare(b *testing.B) {
	for _, customers := range []int{10, 1000, 100_000} {
		b.Run(fmt.Sprintf("customers=%d/client=messaging", customers), preparing(customers))
		b.Run(fmt.Sprintf("customers=%d/client=json.Encoder", customers), encoding(customers))
	}
}
