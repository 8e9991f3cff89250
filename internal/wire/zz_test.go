package wire
import ("testing";"strings";"fmt")
func BenchmarkEB(b *testing.B){
 var body strings.Builder
 body.WriteString(`{"success":false,"message":"The given data was invalid.","errors":{`)
 for i := range 500 { if i>0 {body.WriteByte(',')}; fmt.Fprintf(&body, `"recipients.0.customers.%d.email":["must be an email address","must be a known customer"]`, i)}
 body.WriteString(`}}`)
 d:=[]byte(body.String()); b.ReportAllocs(); b.SetBytes(int64(len(d)))
 for b.Loop(){ ReadErrorBody(d) }
}
