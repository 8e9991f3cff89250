package messaging

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
	recipient := Recipient{Type: RecipientCustomer, Customers: make([]CustomerParams, 100_000)}
	for i := range recipient.Customers {
		recipient.Customers[i] = CustomerParams{CustomerID: "cus_100000000", Email: "jane.doe@example.com", PhoneNo: "+33612345678"}
	}
	ways := map[string]func() error{
		"one by one": func() error {
			w := newBodyWriter()
			recipient.write(w)
			_, err := w.finish()
			return err
		},
		"in one go": func() error {
			var body bytes.Buffer
			return json.NewEncoder(&body).Encode(recipient)
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
