package wire

import (
	"bytes"
	"encoding/json"
	"runtime"
	"testing"
)

// BenchmarkRecipients shows what it buys to write the customers of a broadcast without
// encoding/json, if that happens once in a while: all pools are empty, including that of
// encoding/json.
func BenchmarkRecipients(b *testing.B) {
	type customer struct {
		CustomerID string `json:"customer_id,omitempty"`
		Email      string `json:"email,omitempty"`
		PhoneNo    string `json:"phone_no,omitempty"`
	}
	customers := make([]customer, 100_000)
	for i := range customers {
		customers[i] = customer{CustomerID: "cus_100000000", Email: "jane.doe@example.com", PhoneNo: "+33612345678"}
	}
	ways := map[string]func() error{
		"member by member": func() error {
			w := NewWriter()
			w.List(len(customers), func(i int) {
				w.Begin()
				w.TextMember("customer_id", customers[i].CustomerID)
				w.TextMember("email", customers[i].Email)
				w.TextMember("phone_no", customers[i].PhoneNo)
				w.End()
			})
			_, err := w.Finish()
			return err
		},
		"by encoding/json": func() error {
			var body bytes.Buffer
			return json.NewEncoder(&body).Encode(customers)
		},
	}
	for name, write := range ways {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				runtime.GC()
				runtime.GC()
				b.StartTimer()
				if err := write(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
