package inspector_test

import (
	"fmt"
	"html"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
)

// sendToMany sends a broadcast to n customers.
func (f *fixture) sendToMany(n int) {
	f.t.Helper()
	customers := make([]string, n)
	for i := range customers {
		customers[i] = fmt.Sprintf(`{"email":"c%d@example.com","customer_id":"id-%d","first_name":"Ada","last_name":"No%d"}`, i+1, i+1, i+1)
	}
	body := strings.Replace(emailBody, `{"email":"ada@example.com"},{"email":"new@example.com"}`, strings.Join(customers, ","), 1)
	require.Equal(f.t, 200, f.send("POST", "/v1/broadcast/send/email", body))
}

func TestEveryCustomerOfABroadcastCanBeSeen(t *testing.T) {
	f := start(t, records.Seed{})
	f.sendToMany(1200)
	path, seen := "/broadcasts/1?tab=audience", 0
	for _, want := range []struct {
		shown, first, last string
		next               string
	}{
		{"1 to 500 of 1,200 are shown.", "c1", "c500", "/broadcasts/1?tab=audience&from=501"},
		{"501 to 1,000 of 1,200 are shown.", "c501", "c1000", "/broadcasts/1?tab=audience&from=1001"},
		{"1,001 to 1,200 of 1,200 are shown.", "c1001", "c1200", ""},
	} {
		page := html.UnescapeString(f.get(path).Body)
		assert.Contains(t, page, want.shown)
		assert.Contains(t, page, ">"+want.first+"@example.com<")
		assert.Contains(t, page, ">"+want.last+"@example.com<")
		seen += strings.Count(page, "@example.com</bdi></a>")
		assert.Equal(t, want.next != "", strings.Contains(page, `href="`+want.next+`" rel="next"`), path)
		path = want.next
	}
	assert.Equal(t, 1200, seen)
	assert.Contains(t, html.UnescapeString(f.get("/broadcasts/1?tab=audience&from=1001").Body),
		`href="/broadcasts/1?tab=audience&from=501" rel="prev"`)
}

func TestCustomersOfABroadcastAreFoundByNameEmailAndID(t *testing.T) {
	f := start(t, records.Seed{})
	f.sendToMany(1200)
	for query, want := range map[string]string{
		"find=C1200@":            "1 of 1,200 match.",
		"find=id-1199":           "1 of 1,200 match.",
		"find=ada+no77":          "11 of 1,200 match.",
		"find=nobody":            "No match among 1,200.",
		"find=example":           "1 to 500 of 1,200 are shown.",
		"find=id-1&from=99999":   "312 of 1,200 match.",
		"find=id-1&from=nothing": "312 of 1,200 match.",
		"from=-7":                "1 to 500 of",
	} {
		assert.Contains(t, f.get("/requests/1?tab=audience&"+query).Body, "<span>"+want, query)
	}
	page := f.get("/requests/1?tab=audience&q=op:email&find=%22%3E%3Cscript%3E").Body
	assert.Contains(t, page, `value="&#34;&gt;&lt;script&gt;"`)
	assert.Contains(t, page, `<input type="hidden" name="q" value="op:email">`, "the search of the list stays")
}

func TestAFewCustomersNeedNoFilter(t *testing.T) {
	f := start(t, records.Seed{})
	f.sendToMany(3)
	page := f.get("/broadcasts/1?tab=audience").Body
	assert.Contains(t, page, "<h2>3 customers</h2>")
	assert.NotContains(t, page, `name="find"`)
}

func TestTheListBesideACustomerHasTheRowOfTheCustomer(t *testing.T) {
	f := start(t, records.Demo())
	f.sendToMany(300)
	page := f.get("/customers/1").Body
	assert.Contains(t, page, `href="/customers/1?before=51" aria-current="true"`)
	assert.Contains(t, page, `data-paged="true"`)
}
