package export

import (
	"fmt"
	"testing"
	"time"

	"github.com/messaging-go/messaging"
)

// BenchmarkEncode measures the formats without a service and without a disk.
func BenchmarkEncode(b *testing.B) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	page := make([]messaging.Customer, perPage)
	for i := range page {
		page[i] = messaging.Customer{CustomerID: fmt.Sprintf("c-%d", i), FirstName: "Ada", LastName: "Lovelace",
			Email:   fmt.Sprintf("customer-%d@example.com", i),
			PhoneNo: "+49305551001", Providers: []string{"email", "push"}, CreatedAt: at, UpdatedAt: at, LastInteraction: at}
	}
	for _, format := range []Format{CSV, JSONLines} {
		b.Run(string(format), func(b *testing.B) {
			b.ReportAllocs()
			encode, lines, err := newEncoder(Customers, Options{Format: format})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				lines = lines[:0]
				for i := range page {
					if lines, err = encode(lines, &page[i]); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*perPage), "ns/row")
		})
	}
}
