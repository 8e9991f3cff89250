package exchange

import (
	"io"
	"net/http"
	"testing"
)

// BenchmarkSend measures a send whose transport reads the body and answers from memory, and
// so what this package adds to a request.
func BenchmarkSend(b *testing.B) {
	for name, responding := range map[string]roundTripper{
		"accepted": responds(http.StatusOK, `{"success":true,"data":true,"message":"ok"}`),
		"rejected": responds(http.StatusUnprocessableEntity, `{"success":false,"message":"no","error":{"name":"no"}}`),
	} {
		b.Run(name, func(b *testing.B) {
			transport := roundTripper(func(req *http.Request) (*http.Response, error) {
				_, _ = io.Copy(io.Discard, req.Body)
				return responding(req)
			})
			b.ReportAllocs()
			for b.Loop() {
				x := newSend(b.Context(), transport)
				x.Send()
				x.End()
			}
		})
	}
}
