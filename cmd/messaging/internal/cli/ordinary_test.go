package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ordinaryTexts are subjects and messages that people send.
var ordinaryTexts = []string{
	"The null hypothesis, explained.", "null", "undefined", "None of your invoices is due", "NaN", "nil", "404", "500 thanks to you",
	"Error 404: your parcel is not here", "%s", "100%s cotton", "50% off", "$NAME", "Save $5 with $CODE", "{x}", "{{first_name}}",
	"Hi {{first_name}}, {{#if vip}}welcome{{/if}}", "[Action required] Confirm", "<3", "a@b", "news.html", "Re: Re: Fwd:", "-- see you", "--",
	"-q", "1", "0", "true", "false", "undefined is not a function", "TODO", "test", "Test mail", "lorem ipsum", "Newsletter 3/2026",
	"March 2026", "April 2026", "Grüße aus Köln", "日本語のお知らせ", "🎉",
	"It's O'Brien's day", `"quoted"`, `C:\temp\file`, "a;b;c", "a,b,c",
	"\\N", "N/A", "#REF! is a spreadsheet error", "1E10 bacteria", "Your code is 000000", "INV-2026-0001", "2026-12-01", "Hello  World",
}

// ordinaryNames are names and ids of customers.
var ordinaryNames = []string{"None", "Nan", "True", "O'Brien", "Null", "Test", "Nil", "Ng", "X", "Æ", "Li Wei", "van der Berg", "D'Angelo",
	"Jean-Luc", "José", "Zoë", "Müller", "Smith Jr.", "李小龙",
	"Владимир", "Undefined", "Unknown", "Admin", "Abc", "Mary Ann", "St. John",
	"Inf", "Infinity", "Void", "Empty", "NaN"}

var ordinaryOrders = []string{"K-00000", "1E10", "A1", "a1", "000", "1", "01", "1.0", "1,0", "A-1", "A 1", "A_1",
	"null", "None", "NaN", "true",
	"#1", "$1", "%s", "{1}", "=1", "+1", "-1", "@1", "2026-01-02", "12:30", "1/2", "É1", "INV-2026-0001", "INV20260001"}

// ordinarily runs a command that sends, with the digest of its dry run, in the process of the test. Nothing may be warned of.
func ordinarily(t *testing.T, what string, args ...string) {
	t.Helper()
	digest, stderr, code := invoke(t, append(args, "--dry-run")...)
	require.Equal(t, 0, code, "%q: %s", what, stderr)
	assert.NotContains(t, stderr, "warning", what)
	_, stderr, code = invoke(t, append(args, "--confirm", strings.TrimSpace(digest))...)
	assert.Equal(t, 0, code, "%q: %s", what, stderr)
	assert.NotContains(t, stderr, "warning", what)
}

func TestOrdinaryDataIsSentWithoutAWord(t *testing.T) {
	o := newOperator(t)
	o.inProcess()

	for i, text := range ordinaryTexts {
		other := ordinaryTexts[len(ordinaryTexts)-1-i]
		ordinarily(t, text, "-p", "sandbox", "broadcast", "push", "--subject="+text, "--message="+other, "--to-customers", "two.csv")
		ordinarily(t, text, "-p", "sandbox", "broadcast", "email", "--sender-email", "news@acme.test", "--sender-name", "Acme",
			"--email", "archive@acme.test", "--message-type", "news", "--subject="+text, "--message="+other, "--to-customers", "two.csv")
	}
	require.Contains(t, o.get("/api/broadcasts?limit=1"), fmt.Sprintf(`{"number":%d,`, 2*len(ordinaryTexts)))

	var customers strings.Builder
	for i, name := range ordinaryNames {
		row, err := json.Marshal(map[string]string{"customer_id": strings.ReplaceAll(name, " ", "-"), "first_name": name, "last_name": name,
			"email": fmt.Sprintf("customer%d@example.com", i)})
		require.NoError(t, err)
		customers.Write(append(row, '\n'))
	}
	o.write("customers.jsonl", customers.String())
	ordinarily(t, "customers", "-p", "sandbox", "broadcast", "push", "--subject", "For all of you", "--message", "Hello",
		"--to-customers", "customers.jsonl")
	assert.Contains(t, o.get("/api/broadcasts?limit=1"), "customer30@example.com")

	orders := "email,order,amount\n"
	for _, order := range ordinaryOrders {
		ordinarily(t, order, "-p", "sandbox", "event", "trigger", "order refunded", "--email", "ada@example.com",
			"-f", "order="+order, "-F", "amount=1")
		orders += fmt.Sprintf("grace@example.com,%q,1\n", order)
	}
	o.write("orders.csv", orders)
	ordinarily(t, "orders", "-p", "sandbox", "outbox", "import", "--ledger", "o.db", "--from", "orders.csv", "--event", "order refunded",
		"--key-column", "order")
	_, stderr, code := invoke(t, "-p", "sandbox", "outbox", "run", "--ledger", "o.db", "--until-empty")
	assert.Equal(t, 0, code, stderr)
	for more, want := range map[int]int{0: 0, 1: 11} {
		_, _, code = invoke(t, "sandbox", "wait", "op:trigger", "has:effect", "--after", "start", "--timeout", "0s",
			"--count", fmt.Sprint(2*len(ordinaryOrders)+more))
		assert.Equal(t, want, code, "each of them was sent once")
	}
}
