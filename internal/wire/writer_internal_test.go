package wire

import (
	"bytes"
	"encoding/json"
	"runtime"
	"testing"
)

// BenchmarkRecipients shows what it buys to write a long list element by element,
// when it is written once in a while: the pools are empty, that of encoding/json
// included.
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
		"one by one": func() error {
			w := NewWriter()
			w.List(len(customers), func(i int) { w.Value(&customers[i]) })
			_, err := w.Finish()
			return err
		},
		"in one go": func() error {
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
