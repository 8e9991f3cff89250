package oddity_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
		"Müller": "", "É.1": "", "What?": "", "50% off": "", "a[1]": "", "{a": "", "on": "", "Orders": "", `24"`: "",
		"{order}": `order "{order}" looks like a placeholder`, "<order_id>": `order "<order_id>" looks like a placeholder`,
		"<order>": `order "<order>" looks like a placeholder`, "ORDER_ID": `order "ORDER_ID" looks like a placeholder`, "IN_TRANSIT": "",
		"%s": `order "%s" looks like a placeholder`, "$1": `order "$1" looks like a placeholder`,
		"$(cat order.txt)": `order "$(cat order.txt)" looks like a placeholder`, "[ORDER_ID]": `order "[ORDER_ID]" looks like a placeholder`,
		"`cat order`": "order \"`cat order`\" looks like a placeholder", "%!s(MISSING)": `order "%!s(MISSING)" looks like a placeholder`,
		"Order": `order "Order" is the name of its column`, "-": `order "-" looks like a missing value`,
		"&nbsp;": `order "&nbsp;" looks like a missing value`, "<p></p>": `order "<p></p>" looks like a missing value`, "a<b": "",
		"\ufeff#N/A": `order "\ufeff#N/A" looks like a missing value`,
		"nu\u200bll": `order "nu\u200bll" looks like a missing value`,
		"NA":         `order "NA" looks like a missing value`, "NASA": "",
		"b''": `order "b''" looks like a missing value`, `b'\n'`: `order "b'\\n'" looks like a missing value`,
		"00000000-0000-0000-0000-000000000000": `order "00000000-0000-0000-0000-000000000000" looks like a missing value`,
		"#DIV/0!":                              `order "#DIV/0!" looks like an error of a spreadsheet`,
		"(none)":                               `order "(none)" looks like a missing value`, "n.a.": `order "n.a." looks like a missing value`,
		"\uffa0":  "order \"\\uffa0\" looks like a missing value",
		"unknown": "", `"A-1"`: `order "\"A-1\"" is in quotation marks`,
		"__ORDER__": `order "__ORDER__" looks like a placeholder`, "A-null": `order "A-null" has a missing value`,
		"null-null": `order "null-null" has a missing value`, "A-None": `order "A-None" has a missing value`, "A-NaN1": "",
		"NULL.": `order "NULL." has a missing value`,
		"A-":    `order "A-" lacks its end`, "order_id": `order "order_id" looks like a placeholder`, "order_1": "",
		`{"error":"no"}`: `order "{\"error\":\"no\"}" looks like the error of a program`, "none left": "",
		"<html><body>no": `order "<html><body>no" looks like the error of a program`,
		"Unauthorized":   `order "Unauthorized" looks like the error of a program`, "A-$ID": `order "A-$ID" looks like a placeholder`,
		"@order.txt":                          `order "@order.txt" is the name of a file`,
		"curl: (6) Could not resolve host: x": `order "curl: (6) Could not resolve host: x" looks like the error of a program`,
	} {
		assert.Equal(t, want, oddity.Values(event, map[string]any{"order": order, "note": "null"}), order)
	}
	for at, want := range map[string]string{
		"2026-11-20T10:00:00Z": "", "1965-03-04T00:00:00Z": "",
		"1899-12-30T00:00:00Z": `at "1899-12-30T00:00:00Z" looks like a missing time`, "tomorrow": "",
		"1970-01-01T00:00:00Z": `at "1970-01-01T00:00:00Z" looks like a missing time`,
		"1904-01-01T00:00:00Z": `at "1904-01-01T00:00:00Z" looks like a missing time`, "2000-01-02T00:00:00Z": "",
		"2000-01-01T00:00:00Z": `at "2000-01-01T00:00:00Z" looks like a missing time`,
		"9999-12-31T23:59:59Z": `at "9999-12-31T23:59:59Z" looks like a missing time`,
	} {
		event := &messaging.Event{Parameters: []messaging.EventParameter{{Name: "at", Type: messaging.ParameterTimestamp}}}
		assert.Equal(t, want, oddity.Values(event, map[string]any{"at": at}), at)
		if parsed, err := time.Parse(time.RFC3339, at); err == nil {
			assert.Equal(t, want, oddity.Values(event, map[string]any{"at": parsed}), at)
		}
	}
}

// TestOutputOfProgramsLooksLikeAMistake reads what programs print where a value was meant, below why it looks like a
// mistake.
func TestOutputOfProgramsLooksLikeAMistake(t *testing.T) {
	outputs, err := os.ReadFile("testdata/outputs.txt")
	require.NoError(t, err)
	why := ""
	for line := range strings.Lines(string(outputs)) {
		output := strings.NewReplacer(`\n`, "\n", `\x1b`, "\x1b").Replace(strings.TrimSuffix(line, "\n"))
		if reason, ok := strings.CutPrefix(output, "# "); ok {
			why = reason
		} else if output != "" {
			assert.Equal(t, "number "+oddity.Quote(output)+" "+why, oddity.Values(numbered, map[string]any{"number": output}))
		}
	}
	assert.NotEmpty(t, why)
}

// numbered requires a text.
var numbered = &messaging.Event{Parameters: []messaging.EventParameter{{Name: "number", Type: messaging.ParameterText, Required: true}}}

func TestUsualValuesAreNoMistakes(t *testing.T) {
	for _, value := range []string{"A-1001", "#1001", "PO#55", "12 Main Street", "Null Island Tours", "Shirt (M)", "Widget(large)", "O'Brien",
		"Meeting (room: 5)", "('24 edition)", "Reminder: your visit", "cat: food", "Usage: 5 GB", "Usage", "3 rows", "5 results found",
		"total 45", "Password", "failed", "timeout", "error", "none", "unknown",
		"2026-11-26", "26 Nov 2026", "10:30", "https://acme.test/orders/1",
		"Some (few)", "Lost and found", "key: A", "Bring a friend: not required", "exit 12", "Ünal", "a, b", "C:\\orders", "1/10/1900",
		"Nuñez", "null and void", "None of these", "None required", "Aston Villa 2, Leeds nil away",
		"1000", "10000", "A-1000", "ABC-000123", "Object of the week", "E4 to E5", "Class of 2026", "O(n)"} {
		assert.Empty(t, oddity.Values(numbered, map[string]any{"number": value}))
	}
}

func TestLabelsLookLikeMistakes(t *testing.T) {
	for label, want := range map[string]string{
		"": "", "Acme": "", "42": "", "€": "", "新着": "", "null": "looks like a missing value", `""`: "looks like a missing value",
		"{}": "looks like a missing value", "\u200b": "looks like a missing value", "\ufeff": "looks like a missing value",
		"\ufffc": "looks like a missing value", "&nbsp;": "looks like a missing value",
		"{{name}}": "looks like a placeholder", "Acme $TEAM": "looks like a placeholder", "A$AP": "",
		"null null": "looks like a missing value", "Ada undefined": "has a missing value",
		"Anull": "has a missing value", "Jennifer Null": "",
	} {
		assert.Equal(t, want, oddity.Label(label), label)
	}
}

func TestNamesLookLikeMistakes(t *testing.T) {
	for name, want := range map[string]string{
		"": "", "Ada": "", "Null": "", "Nan": "", "O'Neil": "", "ada@example.com": "looks like an email address", "0": "looks like a number",
		"#N/A": "looks like a missing value", "#REF!": "looks like an error of a spreadsheet", "NULL": "looks like a missing value",
		"nan": "looks like a missing value", "None": "looks like a missing value",
		"=B2": "looks like a formula", "FALSE": "looks like what a spreadsheet makes of a value", "*|FNAME|*": "looks like a placeholder",
		"%FNAME%": "looks like a placeholder", "{{first_name}}": "looks like a placeholder", "M\ufffdller": "has characters that were lost",
		"c-1001": "looks like an id", "John 3rd": "", "Max2": "", "[First Name]": "looks like a placeholder",
		"First Name": "is the name of a column", "FIRST_NAME": "is the name of a column", "{name}": "looks like a placeholder",
		"%s": "looks like a placeholder", "\u200b": "has no letters", "None None": "looks like a missing value", "Jennifer Null": "",
		"?!": "has no letters", "Mary Name": "",
		"Ada $LASTNAME": "looks like a placeholder", "$ORDER-A": "looks like a placeholder", "A$AP Rocky": "", "Ke$ha": "",
		`{"a": 1}`: "looks like an object of a program", "NaT NaT": "looks like a missing value",
		"Ada undefined": "has a missing value", "Ada None": "has a missing value", "ANone": "has a missing value",
		"curl: (6) Could not resolve host: x": "looks like the error of a program",
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

func TestAddressesLookLikeMistakes(t *testing.T) {
	const unfilled = "looks like a placeholder"
	for address, want := range map[string]string{
		"ada@example.com": "", "o'neil@example.com": "", "a+b@example.com": "", "null.b@example.com": "",
		"null@example.com": "looks like a missing value", "undefined@example.com": "looks like a missing value",
		"{{email}}@example.com": unfilled, "${USER}@example.com": unfilled, "%s@example.com": unfilled, "*@example.com": unfilled,
		"__NAME__@example.com": unfilled, "[email]@example.com": unfilled, "null.null@example.com": "looks like a missing value",
		"=A1@example.com": unfilled, "'ada@example.com": unfilled, "ada@{domain}": unfilled,
		"\u2800@example.com": "looks like a missing value", "-@example.com": "looks like a missing value",
		`\N@example.com`: "looks like a missing value", "N/A@example.com": "looks like a missing value", "nat@example.com": "",
		"ada.null@example.com": "", "user-null@example.com": "has a missing value",
		"None.lovelace@example.com": "has a missing value",
		"ada@example.com,":          "looks like several addresses", "userNone@example.com": "has a missing value",
		"ada@example.comnull":       "has a missing value",
		"ada@undefined.example.com": "has a missing value", "ada@example.null": "has a missing value",
		"0@example.com":     "looks like a missing value",
		"user-@example.com": "lacks a part before the @", "ada.@example.com": "lacks a part before the @",
		"ada@example": "looks cut off or misspelled", "ada@example..com": "looks cut off or misspelled",
	} {
		assert.Equal(t, want, oddity.Address(address), address)
	}
}

func TestIDsLookLikeMistakes(t *testing.T) {
	for id, want := range map[string]string{
		"c-1001": "", "4711": "", "ada": "", "ids": "",
		"c-\"\"": "lacks its end", "c-.": "lacks its end", "c-{}": "lacks its end", "c-N/A": "has a missing value",
		"c-$SUBJECT": "looks like a placeholder", "c-1|c-2": "looks like several ids",
		"c-null": "has a missing value", "user_None": "has a missing value", "c-": "lacks its end", "nullable": "",
		"=A1": "looks like a formula", "TODO": "looks like a placeholder", "-0": "looks like a missing value",
		"1970-01-01T00:00:00Z": "looks like what a spreadsheet makes of an id",
		"{id}":                 "looks like a placeholder", "$1": "looks like a placeholder", "id": "is the name of a column",
		"12.50": "looks like what a spreadsheet makes of an id", "Customer ID": "is the name of a column",
		"https://acme.test/1": "looks like a link", "+491701234567": "looks like a phone number",
	} {
		assert.Equal(t, want, oddity.ID(id), id)
	}
}

func TestSegmentsLookLikeMistakes(t *testing.T) {
	for id, want := range map[string]string{
		"seg-1": "", "vip": "", "null": "looks like a missing value", "{seg}": "looks like a placeholder", "*": "looks like a missing value",
		"0": "looks like a missing value", "10": "",
		"a b": "looks like several ids", "All": "sounds like all customers", "c.csv": "is the name of a file", "seg-": "lacks its end",
		"ada@example.com": "looks like an email address",
	} {
		assert.Equal(t, want, oddity.Segment(id), id)
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

func TestASubjectThatEndsWithASpaceLacksAValue(t *testing.T) {
	const want = `the subject "Your order " begins or ends with a space, as if it lacked a value`
	assert.Equal(t, []string{want}, oddity.Message("Your order ", "Hi"))
}

func TestMessagesLookLikeMistakes(t *testing.T) {
	for message, want := range map[string][]string{
		"<p>Our new address is …</p>": nil, "Hi {{name}}, only $5": nil, `<img src="https://acme.test/a.png" alt="">`: nil,
		"Write to a@acme.test or b@acme.test": nil, "null and void": nil,
		"<p></p>":                               {"the message has no text"},
		"<!-- text -->":                         {"the message has no text"},
		`<img src="">`:                          {"the message has no text"},
		`<a href="https://undefined/x">x y</a>`: {`a link of the message leads to "https://undefined"`},
		"<p>Hi <NAME></p>":                      {"the message has the placeholder <NAME>"},
		"Access Denied":                         {`the message "Access Denied" looks like the error of a program`},
		"<title>Log in</title><form>Password</form>": {`the message "Password" looks like the error of a program`},
		"None":              {`the message "None" looks like a missing value`},
		"<html><p>Hi, this": {"the message has no end: it lacks </html>"},
		"<html><head></head><body><table class=a><tr><td>Hi</table></body></html>": nil,
		"cat: no.html: No such file or directory": {
			`the message "cat: no.html: No such file or directory" looks like the error of a program`},
		"sh: 1: jq: not found": {`the message "sh: 1: jq: not found" looks like the error of a program`},
		"zsh: command not found: jq": {
			`the message "zsh: command not found: jq" looks like the error of a program`},
		"KeyError: 'html'": {`the message "KeyError: 'html'" looks like the error of a program`},
		"ERROR 1045 (28000): Access denied": {
			`the message "ERROR 1045 (28000): Access denied" looks like the error of a program`},
		"<p>Hi<!-- note</p><p>rest</p>":     {"the message has no end: it lacks -->"},
		`Hello \N, we moved`:                {`the message "Hello \\N, we moved" lacks a name or a value`},
		"Hello #N/A, we moved":              {`the message "Hello #N/A, we moved" looks like an error of a spreadsheet`},
		"Hi Ada None, we moved":             {`the message "Hi Ada None, we moved" lacks a name or a value`},
		"Hi all, none of the shops is open": nil,
		"{{email}}":                         {`the message "{{email}}" has only a placeholder`},
		"502 Bad Gateway":                   {`the message "502 Bad Gateway" looks like the error of a program`},
		"<html><head><title>404 Not Found</title></head><body>nginx</body></html>": {
			`the message "nginx" looks like the error of a program`},
		"https://acme.test/a.html": nil, `<a href="https://acme.test/$URL">here</a>`: {"the message has the variable $URL of a shell"},
		"500 points for you": nil, "Sale: not found anywhere else": nil,
		"null":                              {`the message "null" looks like a missing value`},
		"@body.html":                        {`the message "@body.html" is the name of a file`},
		"March News.html":                   {`the message "March News.html" is the name of a file`},
		`{"success":false}`:                 {`the message "{\"success\":false}" is JSON, as the error of a server is`},
		"Dear ##NAME##, see":                {`the message "Dear ##NAME##, see" looks like a placeholder`},
		"Dear %NAME%, see":                  {`the message "Dear %NAME%, see" looks like a placeholder`},
		"Dear @Model.Name":                  {`the message "Dear @Model.Name" looks like a placeholder`},
		"Hi [First Name], hi":               {`the message "Hi [First Name], hi" looks like a placeholder`},
		"At [insert address here], see you": {`the message "At [insert address here], see you" looks like a placeholder`},
		"no healthy upstream":               {`the message "no healthy upstream" looks like the error of a program`},
		"<p>Your code: </p>":                {`the message "Your code:" lacks a name or a value`},
		"<p>The price is  EUR":              {`the message lacks a value: "is  E"`},
		"<p>Your order of last week has been on its way since Monday, and we hope that it arrives until</p>": {
			`the message ends in "it arrives until", as if it lacked a value`},
		`<a href="https://acme.test/orders/?id=">Look</a>`: {`the message lacks a value: "https://acme.test/orders/?id=\""`},
		`<a href="https://acme.test/?id=1&ref=">Look</a>`:  nil, "We are here for you.\n\nAcme": nil, "is\n  here": nil,
		`<p>Follow us: <img src="https://acme.test/a.png"></p>`: {`the message "Follow us:" lacks a name or a value`},
		"Hi ${NAME}":      {`the message "Hi ${NAME}" has the variable ${NAME} of a shell`},
		"Dear $FIRSTNAME": {`the message "Dear $FIRSTNAME" has the variable $FIRSTNAME of a shell`},
		"email\na@x.test\nb@x.test\nc@x.test\n": {"the message begins like a list of customers",
			"the message has 3 addresses, as a list of customers has"},
		"email,first_name\na@x.test,Ada\n":                                 {"the message begins like a list of customers"},
		"<body><div style='display: none'>Preview</div><div></div></body>": {"the message has no text"},
		"<p hidden>Hi</p><template>Hi</template>":                          {"the message has no text"},
		`<img src="https://acme.test/open" width="1" height="1">`:          {"the message has no text"},
		"a@x.test,\nhow are you":                                           nil,
		"<<<<<<< HEAD\nold\n=======\nnew\n":                                {"the message has the marks of a conflict between versions"},
		`Pay <a href="https://">here</a>`:                                  {`no reader can follow the link to "https://" of the message`},
		`Pay <a href="">here</a>`:                                          {`the link "here" of the message has no address`},
		`Pay <a href=" ">here</a>`:                                         {`no reader can follow the link to " " of the message`},
		`Pay <a href="//.a.test">here</a>`:                                 {`no reader can follow the link to "//.a.test" of the message`},
		`Pay <a href="https://shop./x">here</a>`:                           {`no reader can follow the link to "https://shop./x" of the message`},
		`Write to <a href="mailto:null">us</a>`:                            {`no reader can follow the link to "mailto:null" of the message`},
		`Pay <a href="#">here</a>`:                                         nil,
		"The list: https:///offer/7": {
			`no reader can follow the link to "https:///offer/7" of the message`},
		"The list: https://": {`no reader can follow the link to "https://" of the message`},
		"Pay at http://localhost:3000/pay": {
			`no reader can follow the link to "http://localhost:3000/pay" of the message`},
		`<p>Hi<img src="file:///C:/logo.png">`: {
			"the message has an image of this machine, which nobody else can load"},
	} {
		assert.Equal(t, want, oddity.Message("News", message), message)
	}
	for subject, want := range map[string]string{
		"News": "", "🎉": "", "A$AP Rocky": "",
		"Hello$NAME": "has the variable $NAME of a shell", "null and void": "", "12 , 13": "lacks a name or a value", "Now... or never": "",
		"Sale in $city!": "has the variable $city of a shell", "__NAME__": "looks like a placeholder",
		"%%name%% news":               "looks like a placeholder",
		"Your order null has shipped": "lacks a name or a value", "Total: NaN": "lacks a name or a value",
		"Hi {{name, look": "lacks a name or a value", "50% off today": "",
		"Hello, world": "", "新着": "", "Only {{price}}": "", "{{{raw}}} news": "",
		"#REF!": "looks like an error of a spreadsheet", "Sale for $NAME": "has the variable $NAME of a shell",
		"Hello null": "lacks a name or a value", "Dear undefined,": "lacks a name or a value", "Hi , news": "lacks a name or a value",
		"TODO: subject": "looks unfinished", "[DRAFT] News": "looks unfinished", "Lorem ipsum": "looks unfinished",
		"TODO a mitad de precio": "", "Hi {name}": "looks like a placeholder", "Hi <FIRST_NAME>": "looks like a placeholder",
		"Hi %s": "looks like a placeholder", "x": "has hardly any letters", "&nbsp;": "has hardly any letters",
		"\u2800": "has hardly any letters", "\ufffc": "has hardly any letters", "\U0001d159": "has hardly any letters",
		"\u3164\u3164": "has hardly any letters", "12345": "has hardly any letters",
		"\u200b":                           "has hardly any letters",
		"curl: (6) Could not resolve host": "looks like the error of a program", "subject.txt": "is the name of a file",
		"ada@example.com": "has only addresses", "Write to ada@example.com": "", "false": "looks like a missing value",
		"Invoice #": "lacks a name or a value", "Only € today": "lacks a name or a value", "Only 5 € today": "", "Invoice #12": "",
		"C# for all": "", "Learn C#": "", "All you were waiting for": "", "See who we are": "", "Win $$$": "",
		"CHANGEME": "looks unfinished", "TBD": "looks unfinished", "INSERT NAME HERE": "looks unfinished",
		"Your place is HERE": "", "YOUR_NAME_HERE": "looks like a placeholder", `{"name": "Ada"}`: "is JSON, as the error of a server is",
		"Customer@1b6d3586": "looks like an object of a program", `Just "Ada"`: "looks like an object of a program",
		`[1] "Ada"`: "looks like an object of a program", "[ <1 empty item> ]": "looks like an object of a program",
		"translation missing: en.subject":  "looks like the error of a program",
		`[missing "en.title" translation]`: "looks like the error of a program",
		"[SUBJECT]":                        "looks like a placeholder", "[ACME] News": "",
		"<p></p>": "has hardly any letters", "null null": "lacks a name or a value", "Null.": "looks like a missing value",
		"Error: connection timed out": "looks like the error of a program", "psql: error: no": "looks like the error of a program",
	} {
		odd := []string{"the subject " + oddity.Quote(subject) + " " + want}
		if want == "" {
			odd = nil
		}
		assert.Equal(t, odd, oddity.Message(subject, "Hi"), subject)
		assert.Equal(t, odd, oddity.Message(subject, ""), "%s, with a template", subject)
	}
}
