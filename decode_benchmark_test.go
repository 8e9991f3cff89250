package messaging

import (
	"fmt"
	"strings"
	"testing"
)

// These benchmarks show what the subtleties of decode.go buy:
//
//	go test -run none -bench . -benchmem

func BenchmarkTimestamp(b *testing.B) {
	for _, form := range []struct{ name, text string }{
		{"as the service writes it", "2024-02-28T23:59:59Z"},
		{"in a form for time.Parse", "2024-02-28T23:59:59+00:00"},
	} {
		b.Run(form.name, func(b *testing.B) {
			text := []byte(form.text)
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := parseTime(text); !ok {
					b.Fatal("can't be read")
				}
			}
		})
	}
}

func BenchmarkTexts(b *testing.B) {
	const texts = 500
	text := []byte("jane.doe@example.com")
	kept := make([]string, texts)
	b.Run("cut from common memory", func(b *testing.B) {
		r := new(reader)
		b.ReportAllocs()
		for b.Loop() {
			r.texts.Reset()
			r.length = texts * len(text)
			for i := range kept {
				kept[i] = r.keep(text)
			}
		}
	})
	b.Run("each by itself", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for i := range kept {
				kept[i] = string(text)
			}
		}
	})
}

func BenchmarkNesting(b *testing.B) {
	row := `{"customer_id":"cus_1","email":"jane.doe@example.com","providers":"email,push"}`
	document := []byte("[" + strings.Repeat(row+",", 99) + row + "]")
	b.SetBytes(int64(len(document)))
	for b.Loop() {
		if depth := nesting(document); depth != 2 {
			b.Fatal(fmt.Sprint(depth, " deep"))
		}
	}
}
