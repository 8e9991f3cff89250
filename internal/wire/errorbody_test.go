package wire_test

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/scripted"
	"github.com/messaging-go/messaging/internal/wire"
)

// fieldProblems takes a field and its messages in turn. Bars separate several messages of
// one field.
func fieldProblems(fieldsAndMessages ...string) (all []messaging.FieldProblem) {
	for pair := range slices.Chunk(fieldsAndMessages, 2) {
		all = append(all, messaging.FieldProblem{Field: pair[0], Messages: strings.Split(pair[1], "|")})
	}
	return all
}

func TestErrorBodyShapes(t *testing.T) {
	tests := []struct {
		name    string
		body    string
		code    string
		message string
		fields  []messaging.FieldProblem
	}{
		{"message and a map of lists", `{"message":"Invalid.","errors":{"subject":["is required"],"email":["is taken","is too long"]}}`,
			"", "Invalid.", fieldProblems("subject", "is required", "email", "is taken|is too long")},
		{"fields keep the order of the body", `{"errors":{"z":["1"],"a":["2"],"m":["3"]}}`, "",
			"", fieldProblems("z", "1", "a", "2", "m", "3")},
		{"keys may come in any order", `{"errors":{"subject":["is required"]},"code":"E42","message":"Invalid."}`, "E42", "Invalid.",
			fieldProblems("subject", "is required")},
		{"a map of texts", `{"errors":{"subject":"is required"}}`, "", "", fieldProblems("subject", "is required")},
		{"nested keys are kept to the letter", `{"errors":{"recipients.0.customers.1.email":["is invalid"]}}`, "", "",
			fieldProblems("recipients.0.customers.1.email", "is invalid")},
		{"nested objects become such keys", `{"errors":{"recipients":{"0":{"email":["is invalid"]}}}}`, "", "",
			fieldProblems("recipients.0.email", "is invalid")},
		{"values that are objects with a message", `{"errors":{"email":{"message":"is taken","rule":"unique"}}}`, "", "",
			fieldProblems("email", "is taken")},
		{"lists of objects with a message", `{"errors":{"email":[{"message":"is taken"},{"message":"is too long"}]}}`, "", "",
			fieldProblems("email", "is taken|is too long")},
		{"a field that is named message", `{"message":"Invalid.","errors":{"message":["is required"]}}`, "", "Invalid.",
			fieldProblems("message", "is required")},

		{"a list of objects with field and message",
			`{"errors":[{"field":"subject","message":"is required"},{"field":"email","message":"is taken"}]}`,
			"", "", fieldProblems("subject", "is required", "email", "is taken")},
		{"a list of objects with a list of messages", `{"errors":[{"field":"a","message":["1","2"]},{"field":"b","messages":["3","4"]},` +
			`{"field":"c","errors":["5","6"]}]}`, "", "", fieldProblems("a", "1|2", "b", "3|4", "c", "5|6")},
		{"several objects about one field", `{"errors":[{"field":"email","message":"is taken"},{"field":"email","message":"is too long"}]}`, "",
			"", fieldProblems("email", "is taken|is too long")},
		{"a list of objects with path and msg", `{"errors":[{"path":"subject","msg":"is required"}]}`, "", "",
			fieldProblems("subject", "is required")},
		{"a list of objects with loc and msg", `[{"loc":["body","recipients",0,"email"],"msg":"is invalid"}]`, "", "",
			fieldProblems("body.recipients.0.email", "is invalid")},
		{"the same within detail", `{"detail":[{"loc":["body","subject"],"msg":"is required"}]}`, "", "",
			fieldProblems("body.subject", "is required")},
		{"the same beside a message", `{"message":"Invalid.","detail":[{"loc":["body","subject"],"msg":"is required"}]}`, "", "Invalid.",
			fieldProblems("body.subject", "is required")},
		{"a list of objects with a source",
			`{"errors":[{"status":"422","source":{"pointer":"/data/subject"},"title":"Invalid","detail":"is required"}]}`, "", "",
			fieldProblems("/data/subject", "is required")},
		{"a list of objects with a list for a path", `{"errors":[{"path":["recipients",0,"email"],"message":"is invalid"}]}`, "",
			"", fieldProblems("recipients.0.email", "is invalid")},
		{"every word for a field",
			`{"violations":[{"name":"a","msg":"1"},{"param":"b","msg":"2"},{"property":"c","msg":"3"},{"attribute":"d","msg":"4"},{"pointer":"e",` +
				`"msg":"5"},{"key":"f","msg":"6"},{"loc":"g","msg":"7"}]}`,
			"", "", fieldProblems("a", "1", "b", "2", "c", "3", "d", "4", "e", "5", "f", "6", "g", "7")},
		{"every word for a message",
			`{"invalid_params":[{"field":"a","reason":"1"},{"field":"b","detail":"2"},{"field":"c","description":"3"},{"field":"d","error":"4"},` +
				`{"field":"e","title":"5"}]}`,
			"", "", fieldProblems("a", "1", "b", "2", "c", "3", "d", "4", "e", "5")},
		{"values that are objects with a msg", `{"errors":{"email":{"msg":"is taken","location":"body"}}}`, "",
			"", fieldProblems("email", "is taken")},
		{"a list of objects with a parameter", `{"errors":[{"source":{"parameter":"per_page"},"detail":"is too large"}]}`, "",
			"", fieldProblems("per_page", "is too large")},
		{"lists of objects below a field", `{"errors":{"recipients":[{"field":"email","message":"is invalid"}]}}`, "",
			"", fieldProblems("recipients.email", "is invalid")},
		{"errors of null beside fields", `{"errors":null,"fields":{"subject":["is required"]}}`, "", "",
			fieldProblems("subject", "is required")},
		{"errors of nothing beside fields", `{"errors":[],"fields":{"subject":["is required"]}}`, "", "",
			fieldProblems("subject", "is required")},
		{"a list of texts", `{"errors":["subject is required","email is taken"]}`, "", "subject is required; email is taken", nil},
		{"a text", `{"errors":"subject is required"}`, "", "subject is required", nil},
		{"a list of maps", `{"errors":[{"subject":["is required"]},{"email":"is taken"}]}`, "", "",
			fieldProblems("subject", "is required", "email", "is taken")},
		{"a list of lists", `{"errors":[["Invalid."],[{"field":"subject","message":"is required"}]]}`, "", "Invalid.",
			fieldProblems("subject", "is required")},
		{"a list of objects with messages in several languages", `{"errors":[{"field":"subject","message":{"en":"is required"}}]}`, "", "",
			fieldProblems("subject.en", "is required")},
		{"a list of objects that name a field and say nothing", `{"errors":[{"field":"subject"}]}`, "", "", nil},
		{"a list of objects of a validator in Java",
			`{"errors":[{"propertyPath":"subject","defaultMessage":"is required"},{"property":"email","defaultMessage":"is taken"}]}`, "", "",
			fieldProblems("subject", "is required", "email", "is taken")},

		{"error with message and fields", `{"error":{"code":"invalid","message":"Invalid.","fields":{"subject":["is required"]}}}`, "invalid",
			"Invalid.", fieldProblems("subject", "is required")},
		{"error with message and errors", `{"error":{"message":"Invalid.","errors":[{"field":"subject","message":"is required"}]}}`, "",
			"Invalid.", fieldProblems("subject", "is required")},
		{"error with message and details", `{"error":{"message":"Invalid.","details":{"subject":"is required"}}}`, "", "Invalid.",
			fieldProblems("subject", "is required")},
		{"error with details as a list of texts", `{"error":{"message":"Invalid.","details":["subject is required"]}}`,
			"", "Invalid.; subject is required", nil},
		{"error as a map of lists", `{"error":{"subject":["is required"],"message":["is too long"]}}`, "", "",
			fieldProblems("subject", "is required", "message", "is too long")},
		{"error as a text", `{"success":false,"error":"Invalid."}`, "", "Invalid.", nil},
		{"error as a list of texts", `{"error":["Invalid.","Sorry."]}`, "", "Invalid.; Sorry.", nil},
		{"error with message and what is no field", `{"error":{"type":"validation","message":"Invalid."}}`, "", "Invalid.", nil},
		{"a code outside and inside", `{"code":"outer","error":{"code":"inner","message":"Invalid."}}`, "outer", "Invalid.", nil},
		{"a message outside and inside", `{"message":"Outer.","error":{"message":"Inner."}}`, "", "Outer.", nil},
		{"message beside error", `{"message":"Invalid.","error":{"subject":["is required"]}}`, "", "Invalid.",
			fieldProblems("subject", "is required")},

		{"data as a map of lists", `{"success":false,"data":{"subject":["is required"]}}`, "",
			"", fieldProblems("subject", "is required")},
		{"data with message and errors", `{"success":false,"data":{"message":"Invalid.","errors":{"subject":["is required"]}}}`, "", "Invalid.",
			fieldProblems("subject", "is required")},
		{"data with error as a text", `{"success":false,"data":{"error":"Invalid."}}`, "", "", fieldProblems("error", "Invalid.")},
		{"message beside data", `{"success":false,"message":"Invalid.","data":{"subject":["is required"]}}`, "", "Invalid.",
			fieldProblems("subject", "is required")},
		{"message beside data of null", `{"success":false,"message":"Invalid.","data":null}`, "", "Invalid.", nil},
		{"message beside data of a list", `{"success":false,"message":"Invalid.","data":["draft"]}`, "", "Invalid.", nil},
		{"data beside errors is no error", `{"errors":{"subject":["is required"]},"data":{"cc":["eve@example.com"]}}`, "", "",
			fieldProblems("subject", "is required")},
		{"data as a map of texts", `{"success":false,"data":{"code":"E42","subject":"is required"}}`, "E42", "",
			fieldProblems("code", "E42", "subject", "is required")},
		{"a map of lists beside other members", `{"success":false,"state":"failed","subject":["is required"]}`, "", "",
			fieldProblems("subject", "is required")},
		{"the map of lists itself", `{"subject":["is required"],"message":["is too long"]}`, "",
			"", fieldProblems("subject", "is required", "message", "is too long")},
		{"the same with message first", `{"message":["is too long"],"subject":["is required"]}`, "",
			"", fieldProblems("message", "is too long", "subject", "is required")},

		{"problem+json", `{"type":"about:blank","title":"Unprocessable","status":422,"detail":"The subject is missing.","instance":"/1"}`, "",
			"The subject is missing.", nil},
		{"problem+json with nothing but a title", `{"type":"about:blank","title":"Unprocessable","status":422}`, "", "Unprocessable", nil},
		{"problem+json with invalid-params", `{"title":"Invalid.","invalid-params":[{"name":"subject","reason":"is required"}]}`, "", "Invalid.",
			fieldProblems("subject", "is required")},
		{"an OAuth error", `{"error":"invalid_token","error_description":"The token has expired."}`, "", "The token has expired.; invalid_token",
			nil},
		{"a code by another name", `{"error_code":"E42","msg":"Invalid."}`, "E42", "Invalid.", nil},
		{"a list in place of a message", `{"status":422,"messages":["Invalid.","Sorry."]}`, "", "Invalid.; Sorry.", nil},
		{"a map in place of a message", `{"message":{"subject":"is required"}}`, "", "", fieldProblems("subject", "is required")},
		{"a code that is a number", `{"code":1042,"message":"Invalid."}`, "1042", "Invalid.", nil},
		{"a message that is a number", `{"message":42}`, "", "42", nil},
		{"messages that are no texts", `{"errors":{"retries":[3,true,null]}}`, "", "", fieldProblems("retries", "3|true")},

		{"a text in quotes", `"Invalid."`, "", "Invalid.", nil},
		{"a list of texts alone", `["Invalid.","Sorry."]`, "", "Invalid.; Sorry.", nil},
		{"plain text", "  upstream connect error\n", "", "upstream connect error", nil},
		{"plain text that begins as JSON does", "no healthy upstream", "", "no healthy upstream", nil},
		{"plain text that begins with a number", "503 backend read error", "", "503 backend read error", nil},
		{"plain text that begins with a quote", `"api" is unavailable`, "", `"api" is unavailable`, nil},
		{"text with control characters is kept", `{"message":"\u001b[31mred\r\n\u0000"}`, "", "\x1b[31mred\r\n\x00", nil},
		{"text that is no UTF-8 is mended", "{\"message\":\"caf\xe9\"}", "", "caf\uFFFD", nil},
		{"a byte order mark is passed over", "\uFEFF{\"message\":\"Invalid.\"}", "", "Invalid.", nil},

		{"nothing", "", "", "", nil},
		{"blanks", " \r\n", "", "", nil},
		{"null", "null", "", "", nil},
		{"a number", "42", "", "", nil},
		{"true", "true", "", "", nil},
		{"an empty list", "[]", "", "", nil},
		{"an empty object", "{}", "", "", nil},
		{"members that say nothing", `{"message":null,"errors":null,"error":{},"data":{}}`, "", "", nil},
		{"HTML", "<!DOCTYPE html><html><body>502</body></html>", "", "", nil},
		{"HTML after blanks", "\n\n  <html></html>", "", "", nil},
		{"HTML after a byte order mark", "\uFEFF<html></html>", "", "", nil},
		{"XML", `<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>`, "", "", nil},
		{"gzip that nobody asked for", scripted.Gzip(`{"message":"Invalid."}`), "", "", nil},
		{"UTF-16", "\xff\xfe{\x00}\x00", "", "", nil},

		{"JSON that breaks off keeps what came", `{"code":"E42","message":"Invalid.","errors":{"subject":["is required"],"email":["is ta`,
			"E42", "Invalid.", fieldProblems("subject", "is required")},
		{"JSON that breaks off in a list", `{"errors":[{"field":"subject","message":"is required"},{"field":"em`, "", "",
			fieldProblems("subject", "is required")},
		{"JSON with a mistake keeps what came before", `{"message":"Invalid.", errors: {}}`, "", "Invalid.", nil},
		{"JSON with a mistake in a list keeps what came before", `{"errors":["Invalid." "Sorry."],"message":"Sorry."}`, "", "Invalid.", nil},
		{"deep nesting is given up", `{"message":"Invalid.","errors":` + strings.Repeat(`[`, 20_000), "", "Invalid.", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var answer *messaging.APIError
			require.ErrorAs(t, scripted.FailureOf(t, scripted.SendBroadcast, scripted.Responds(422, test.body)), &answer)
			assert.Equal(t, test.code, answer.Code)
			assert.Equal(t, test.message, answer.Message)
			assert.Equal(t, test.fields, answer.Fields)
			assert.Equal(t, test.body, string(answer.Body))
			assert.ErrorIs(t, answer, messaging.ErrValidation)
			assert.Equal(t, messaging.DeliveryRejected, messaging.DeliveryOf(answer))
			scripted.RequireOneShortLine(t, answer, "send email broadcast: POST /v1/broadcast/send/email: 422 Unprocessable Entity",
				"; the request was refused")
		})
	}
}

func TestErrorBodyKeepsMessagesBesideTheStatusText(t *testing.T) {
	const body = `{"statusCode":422,"message":["subject is required","email is taken"],"error":"Unprocessable Entity"}`
	err := scripted.FailureOf(t, scripted.SendBroadcast, scripted.Responds(422, body))
	assert.ErrorContains(t, err, "subject is required")
	assert.ErrorContains(t, err, "email is taken")
}

func TestErrorBodyForms(t *testing.T) {
	blanks := strings.Repeat(" ", wire.MaxErrorBody)
	tests := []struct {
		name, body string
		form       wire.Form
	}{
		{"nothing but blanks", " \r\n", wire.Empty},
		{"HTML", " <html></html>", wire.Markup},
		{"plain text", "no healthy upstream", wire.Text},
		{"an object", `{"message":"Invalid."}`, wire.JSON},
		{"a number", "42", wire.JSON},
		{"an object of the service", `{"message":"Invalid.","success":false}`, wire.FromService},
		{"an object whose success is a text", `{"success":"false"}`, wire.JSON},
		{"an object whose success is null", `{"success":null}`, wire.JSON},
		{"an object below another", `{"error":{"success":false}}`, wire.JSON},
		{"an object that breaks off", `{"success":false,"message":"Inv`, wire.Text},
		{"an object that more text follows", `{"success":false} {`, wire.Text},
		{"an object that is cut off at the limit", `{"success":false,` + blanks, wire.FromService},
		{"plain text that is cut off at the limit", "42," + blanks, wire.Text},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, test.form, wire.ReadErrorBody([]byte(test.body)).Form)
		})
	}
}

func TestErrorBodyIsReadForEveryStatus(t *testing.T) {
	const body = `{"success":false,"code":"E42","message":"No.","errors":{"subject":["is required"]}}`
	for _, status := range []int{200, 201, 300, 302, 400, 401, 403, 404, 409, 422, 429, 500, 503, 599} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			var answer *messaging.APIError
			require.ErrorAs(t, scripted.FailureOf(t, scripted.SendBroadcast, scripted.Responds(status, body)), &answer)
			assert.Equal(t, "E42", answer.Code)
			assert.Equal(t, "No.", answer.Message)
			assert.Equal(t, fieldProblems("subject", "is required"), answer.Fields)
			assert.Equal(t, body, string(answer.Body))
		})
	}
}

// hugeBody is a body of 10 MB that counts what is read of it.
type hugeBody struct{ read int }

func (h *hugeBody) Read(p []byte) (int, error) {
	if h.read >= 10_000_000 {
		return 0, io.EOF
	}
	for i := range p {
		p[i] = 'x'
	}
	h.read += len(p)
	return len(p), nil
}

func TestErrorBodyIsBounded(t *testing.T) {
	var manyFields strings.Builder
	manyFields.WriteString(`{"success":false,"message":"Invalid.","errors":{"f0":["0"]`)
	for i := range 100_000 - 1 {
		fmt.Fprintf(&manyFields, `,"f%d":["%d"]`, i+1, i+1)
	}
	manyFields.WriteString(`}}`)
	for _, status := range []int{200, 422, 500} {
		t.Run(fmt.Sprintf("100,000 fields under %d", status), func(t *testing.T) {
			var answer *messaging.APIError
			require.ErrorAs(t, scripted.FailureOf(t, scripted.SendBroadcast, scripted.Responds(status, manyFields.String())), &answer)
			assert.Equal(t, "Invalid.", answer.Message)
			assert.Equal(t, manyFields.String()[:scripted.MaxKeptBody], string(answer.Body))
			require.Greater(t, len(answer.Fields), 1000)
			for i, field := range answer.Fields {
				require.Equal(t, messaging.FieldProblem{Field: fmt.Sprintf("f%d", i), Messages: []string{fmt.Sprint(i)}}, field)
			}
		})
	}
	t.Run("a body of 10 MB is left at its beginning", func(t *testing.T) {
		body := new(hugeBody)
		var answer *messaging.APIError
		require.ErrorAs(t, scripted.FailureOf(t, scripted.SendBroadcast, scripted.RespondsFrom(500, body)), &answer)
		assert.Equal(t, scripted.MaxKeptBody, len(answer.Body))
		const endOfAKey = 2 << 10 // one that is escaped twice, across the limit
		assert.LessOrEqual(t, body.read, scripted.MaxKeptBody+endOfAKey)
	})
	t.Run("fields below a name that is long are left out in the end, and none is taken for the request", func(t *testing.T) {
		body := `{"errors":{"` + strings.Repeat("a", scripted.MaxKeptBody/2) + `":{` + strings.Repeat(`"b":"1","c":"2",`, 100) + `"d":"3"}}}`
		var answer *messaging.APIError
		require.ErrorAs(t, scripted.FailureOf(t, scripted.SendBroadcast, scripted.Responds(422, body)), &answer)
		assert.Empty(t, answer.Message)
		assert.Greater(t, len(answer.Fields), 1)
		assert.Less(t, len(answer.Fields), 10)
	})
	t.Run("plain text is cut between two bytes of a character, and read all the same", func(t *testing.T) {
		text := "x" + strings.Repeat("é", scripted.MaxKeptBody)
		var answer *messaging.APIError
		require.ErrorAs(t, scripted.FailureOf(t, scripted.SendBroadcast, scripted.Responds(500, text)), &answer)
		assert.Equal(t, scripted.MaxKeptBody, len(answer.Body))
		assert.True(t, strings.HasPrefix(answer.Message, "xé"), "the message is lost")
	})
}

func TestErrorBodyMemoryIsBoundedByItsLength(t *testing.T) {
	const half = scripted.MaxKeptBody / 2
	tests := map[string]string{
		"many messages": `["` + strings.Repeat(`a","`, scripted.MaxKeptBody/4) + `"]`,
		"many fields below a name that is long": `{"errors":{"` + strings.Repeat("a", half) + `":{` + strings.Repeat(`"b":1,`, half/6) +
			`"b":1}}}`,
		"many empty objects below a name that is long": `{"errors":{"` + strings.Repeat("a", half) + `":{` + strings.Repeat(`"b":{},`, half/7) +
			`"b":{}}}}`,
		"many names below a name that is long": `{"errors":{"` + strings.Repeat("a", half) + `":[` +
			strings.Repeat(`{"key":"b"},`, half/12) + `{}]}}`,
		"many levels":       strings.Repeat(`{"a":`, scripted.MaxKeptBody/5),
		"many small values": `{"errors":{` + strings.Repeat(`"a":1,`, scripted.MaxKeptBody/6) + `"a":1}}`,
	}
	for name, body := range tests {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_ = scripted.FailureOf(t, scripted.SendBroadcast, scripted.Responds(400, body))
			runtime.ReadMemStats(&after)
			assert.Less(t, (after.TotalAlloc-before.TotalAlloc)>>20, uint64(50), "MiB")
		})
	}
}

func TestErrorBodyIsKeptWhenCutShort(t *testing.T) {
	broken := io.MultiReader(strings.NewReader(`{"message":"Invalid.","errors":`), iotest.ErrReader(scripted.ErrReset))
	var answer *messaging.APIError
	require.ErrorAs(t, scripted.FailureOf(t, scripted.SendBroadcast, scripted.RespondsFrom(422, broken)), &answer)
	assert.Equal(t, "Invalid.", answer.Message)
	assert.Equal(t, `{"message":"Invalid.","errors":`, string(answer.Body))
	assert.Equal(t, messaging.DeliveryRejected, messaging.DeliveryOf(answer), "the status came whole")
}
