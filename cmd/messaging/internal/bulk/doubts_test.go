package bulk

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/rows"
)

func TestAPlanDoubtsRowsThatLookLikeAMistake(t *testing.T) {
	for text, want := range map[string][]string{
		"customer_id,order\nNaN,1\n4711,2\na@example.com,3\n": {
			`line 2: customer_id "NaN" looks like a missing value`, `line 4: customer_id "a@example.com" looks like an email address`},
		"customer_id,email,order\n7,a@example.com,1\n8,b@example.com,2\n7,b@example.com,3\n7,c@example.com,4\n": {
			`line 4: customer_id "7" has another email in line 2`, `line 4: email "b@example.com" has another customer_id in line 3`},
		"customer_id,email,order\n7,,A-1\n7,a@example.com,2\n,a@example.com,a 1\n": {"line 4: may have the customer of line 2: " +
			"the values are the same, and one row has only an id, the other only an address"},
		"customer_id,email,order\n7,,1\n,a@example.com,2\n8,b@example.com,3\n":                                nil,
		"customer_id,email,order\n7,a@example.com,1\n7,A@example.com,2\n7,,3\n8,b@example.com,4\nnobody,,5\n": nil,
		"email,order\na@example.com,null\nb@example.com,none\nc@example.com,#REF!\n": {
			`line 2: order "null" looks like a missing value`, `line 4: order "#REF!" looks like an error of a spreadsheet`},
		"email,order,shipped_at\na@example.com,1,2026-11-20T10:00:00Z\nb@example.com,2,1970-01-01T00:00:00Z\n": {
			`line 3: shipped_at "1970-01-01T00:00:00Z" looks like a missing time`},
		"email,order\na@example.com,4.00638E+12\nb@example.com,A-1\n": {`line 2: order "4.00638E+12" looks like what a spreadsheet makes of it`},
	} {
		plan, err := fileOf(t, rows.CSV, text, nil, "order").Plan(t.Context())
		require.NoError(t, err)
		var got []string
		for _, doubt := range plan.Doubts.First {
			got = append(got, doubt.Error())
		}
		assert.Equal(t, want, got, text)
		assert.Equal(t, len(want), plan.Doubts.Rows, text)
	}
}

func TestAPlanDoubtsAQuotationMarkThatJoinsRows(t *testing.T) {
	for text, want := range map[string]int{
		"email,order,note\na@example.com,1,\"Slim stand\nb@example.com,2,Blue chair\nc@example.com,3,Monitor 27\"\n": 1,
		"email,note,order\na@example.com,\"Slim stand,1\nb@example.com,Monitor 27\",2\n":                             1,
		"email,order,note\na@example.com,1,\"Main Street 1\nBerlin, Germany\"\n":                                     0,
		"email,order,note\na@example.com,1,\"a, b, c\nd\"\n":                                                         0,
	} {
		plan, err := fileOf(t, rows.CSV, text, map[string]string{"note": ""}, "order").Plan(t.Context())
		require.NoError(t, err)
		assert.Equal(t, want, plan.Doubts.Rows, text)
		if want > 0 {
			assert.EqualError(t, plan.Doubts.First[0], "line 2: note holds lines that look like other rows; is a quotation mark out of place?")
		}
	}
}

func TestAPlanCountsTheCustomersOfWhomRowsDisagree(t *testing.T) {
	var text strings.Builder
	text.WriteString("customer_id,email,order\n")
	for i := range 3000 {
		fmt.Fprintf(&text, "c%d,a%d@example.com,%d\n", i, i, i)
	}
	for i := range 30 {
		fmt.Fprintf(&text, "c%d,b%d@example.com,x%d\nc%d,d%d@example.com,y%d\n", i, i, i, i, i, i)
	}
	plan, err := fileOf(t, rows.CSV, text.String(), nil, "order").Plan(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 30, plan.Doubts.Rows)
	require.Len(t, plan.Doubts.First, 1)
	assert.Contains(t, plan.Doubts.First[0].Error(), "has another email in line")
}

func TestACustomerWithAnInvisibleCharacterIsAProblem(t *testing.T) {
	found := bodies(t, fileOf(t, rows.CSV, "customer_id,order\n7\u200b1,1\n71,2\n", nil, ""))
	assert.Equal(t, `line 2, column 1 (customer_id): contains an invisible character: "7\u200b1"`, found[0])
	assert.True(t, slices.ContainsFunc(found, func(body string) bool { return strings.Contains(body, `"71"`) }))
}
