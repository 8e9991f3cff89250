package oddity_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/oddity"
)

func TestValuesThatAnEventRequiresLookLikeMistakes(t *testing.T) {
	event := &messaging.Event{Parameters: []messaging.EventParameter{
		{Name: "order", Type: messaging.ParameterText, Required: true}, {Name: "note", Type: messaging.ParameterText}}}
	for order, want := range map[string]string{
		"A-1001": "", "4006380": "", "4.00638E+12": `order "4.00638E+12" looks like what a spreadsheet makes of it`,
		"1-Mar": `order "1-Mar" looks like what a spreadsheet makes of it`, "Mar": "", "2026-03-01": "", "TRUE": "", "12.00": "",
		"B\ufffdrse": "order \"B\ufffdrse\" has characters that were lost", "null": `order "null" looks like a missing value`,
		"#REF!": `order "#REF!" looks like an error of a spreadsheet`, "$ORDER": `order "$ORDER" looks like a placeholder`,
		"=B2&C2": `order "=B2&C2" looks like a formula`, "'A-1": `order "'A-1" looks like what a spreadsheet makes of it`,
		"order": `order "order" is the name of its column`, "[object Object]": `order "[object Object]" looks like a missing value`,
		"MÃ¼ller": `order "MÃ¼ller" has characters that were lost`, "????": `order "????" has characters that were lost`,
		"Müller": "", "É.1": "", "What?": "",
	} {
		assert.Equal(t, want, oddity.Values(event, map[string]any{"order": order, "note": "null"}), order)
	}
	for at, want := range map[string]string{
		"2026-11-20T10:00:00Z": "", "1965-03-04T00:00:00Z": "",
		"1899-12-30T00:00:00Z": `at "1899-12-30T00:00:00Z" looks like a missing time`, "tomorrow": "",
		"1970-01-01T00:00:00Z": `at "1970-01-01T00:00:00Z" looks like a missing time`,
		"9999-12-31T23:59:59Z": `at "9999-12-31T23:59:59Z" looks like a missing time`,
	} {
		event := &messaging.Event{Parameters: []messaging.EventParameter{{Name: "at", Type: messaging.ParameterTimestamp}}}
		assert.Equal(t, want, oddity.Values(event, map[string]any{"at": at}), at)
		if parsed, err := time.Parse(time.RFC3339, at); err == nil {
			assert.Equal(t, want, oddity.Values(event, map[string]any{"at": parsed}), at)
		}
	}
}

func TestNamesLookLikeMistakes(t *testing.T) {
	for name, want := range map[string]string{
		"": "", "Ada": "", "Null": "", "Nan": "", "O'Neil": "", "ada@example.com": "looks like an email address", "0": "looks like a number",
		"#N/A": "looks like a missing value", "#REF!": "looks like an error of a spreadsheet", "NULL": "looks like a missing value",
		"nan": "looks like a missing value", "None": "looks like a missing value",
		"=B2": "looks like a formula", "FALSE": "looks like what a spreadsheet makes of a value", "*|FNAME|*": "looks like a placeholder",
		"%FNAME%": "looks like a placeholder", "{{first_name}}": "looks like a placeholder", "M\ufffdller": "has characters that were lost",
	} {
		assert.Equal(t, want, oddity.Name(name), name)
	}
}

func TestPhoneNumbersLookLikeMistakes(t *testing.T) {
	for number, want := range map[string]string{
		"": "", "+491701234567": "", "0170-1234567": "", "+4.91512E+11": "looks like what a spreadsheet makes of it",
		"+49": "is no phone number", "+000000000": "is no phone number",
	} {
		assert.Equal(t, want, oddity.Phone(number), number)
	}
}

func TestIdentifiersThatAreCommentedOutLookLikeMistakes(t *testing.T) {
	for _, text := range []string{"#bob@co.example", "//bob@co.example", "--bob@co.example"} {
		assert.Equal(t, "begins like a comment", oddity.Address(text))
	}
	assert.Equal(t, "begins like a comment", oddity.ID("#c-1002"))
}

func TestIdentifiersEndWithTheHeaderOfTheNextFile(t *testing.T) {
	const joined = "ends with the name of its column, as where files were joined"
	assert.Equal(t, joined, oddity.ID("c-1002customer_id"))
	assert.Equal(t, joined, oddity.Address("alan@example.comemail"))
	assert.Empty(t, oddity.Address("alan@example.email"))
}

func TestMessagesLookLikeMistakes(t *testing.T) {
	for message, want := range map[string][]string{
		"<p>Our new address is …</p>": nil, "Hi {{name}}, only $5": nil, `<img src="https://acme.test/a.png" alt="">`: nil,
		"Write to a@acme.test or b@acme.test": nil, "null and void": nil,
		"<p></p>":           {"the message has no text"},
		"None":              {`the message "None" looks like a missing value`},
		"<html><p>Hi, this": {"the message has no end: it lacks </html>"},
		"<html><head></head><body><table class=a><tr><td>Hi</table></body></html>": nil,
		"cat: no.html: No such file or directory": {
			`the message "cat: no.html: No such file or directory" looks like the error of a program`},
		"<p>Hi<!-- note</p><p>rest</p>": {"the message has no end: it lacks -->"},
		"502 Bad Gateway":               {`the message "502 Bad Gateway" looks like the error of a program`},
		"<html><head><title>404 Not Found</title></head><body>nginx</body></html>": {
			`the message "nginx" looks like the error of a program`},
		"https://acme.test/a.html": nil, `<a href="https://acme.test/$URL">here</a>`: {"the message has the variable $URL of a shell"},
		"500 points for you": nil, "Sale: not found anywhere else": nil,
		"null":                                  {`the message "null" looks like a missing value`},
		"@body.html":                            {`the message "@body.html" is the name of a file`},
		"March News.html":                       {`the message "March News.html" is the name of a file`},
		`{"success":false}`:                     {"the message is JSON, as the error of a server is"},
		"Hi ${NAME}":                            {`the message "Hi ${NAME}" has the variable ${NAME} of a shell`},
		"Dear $FIRSTNAME":                       {`the message "Dear $FIRSTNAME" has the variable $FIRSTNAME of a shell`},
		"email\na@x.test\nb@x.test\nc@x.test\n": {"the message has 3 addresses, as a list of customers has"},
		"<<<<<<< HEAD\nold\n=======\nnew\n":     {"the message has the marks of a conflict between versions"},
		`Pay <a href="https://">here</a>`:       {`no reader can follow the link to "https://" of the message`},
		`Pay <a href="">here</a>`:               {`the link "here" of the message has no address`},
		`Pay <a href="#">here</a>`:              nil,
		"The list: https:///offer/7":            {`no reader can follow the link to "https:///offer/7" of the message`},
		"The list: https://":                    {`no reader can follow the link to "https://" of the message`},
		"Pay at http://localhost:3000/pay":      {`no reader can follow the link to "http://localhost:3000/pay" of the message`},
		`<p>Hi<img src="file:///C:/logo.png">`:  {"the message has an image of this machine, which nobody else can load"},
	} {
		assert.Equal(t, want, oddity.Message("News", message), message)
	}
	assert.Equal(t, []string{`the subject "#REF!" looks like an error of a spreadsheet`}, oddity.Message("#REF!", "Hi"))
	assert.Equal(t, []string{`the subject "Sale for $NAME" has the variable $NAME of a shell`}, oddity.Message("Sale for $NAME", "Hi"))
}
