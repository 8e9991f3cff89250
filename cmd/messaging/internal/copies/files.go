package copies

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"mime/quotedprintable"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
)

// EML returns an email broadcast as a file that email programs open, as a draft of the sender: it names who gets a blind
// copy. An email program loads its remote images.
func EML(b *messagingtest.EmailBroadcast, at time.Time, html bool, text string) []byte {
	var out bytes.Buffer
	header := func(name, value string) {
		if value != "" {
			out.WriteString(folded(name+": "+value) + "\r\n")
		}
	}
	header("Date", at.UTC().Format(time.RFC1123Z))
	header("From", strings.TrimPrefix(phrase(b.SenderName)+" <"+oneLine(b.SenderEmail)+">", " "))
	header("To", oneLine(b.Email))
	header("Cc", oneLine(strings.Join(b.CC, ", ")))
	header("Bcc", oneLine(strings.Join(b.BCC, ", ")))
	header("Reply-To", oneLine(strings.Join(b.ReplyTo, ", ")))
	header("Subject", unstructured(b.Subject))
	header("X-Unsent", "1")
	header("MIME-Version", "1.0")
	if !html {
		part(&out, "text/plain", b.Message)
		return out.Bytes()
	}
	const boundary = "=_messaging_sandbox"
	header("Content-Type", `multipart/alternative; boundary="`+boundary+`"`)
	out.WriteString("\r\n")
	for _, alternative := range [][2]string{{"text/plain", text}, {"text/html", b.Message}} {
		out.WriteString("--" + boundary + "\r\n")
		part(&out, alternative[0], alternative[1])
		out.WriteString("\r\n")
	}
	out.WriteString("--" + boundary + "--\r\n")
	return out.Bytes()
}

// part writes the header and the text of a part.
func part(out *bytes.Buffer, mediaType, text string) {
	out.WriteString("Content-Type: " + mediaType + "; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n")
	w := quotedprintable.NewWriter(out)
	_, _ = w.Write([]byte(strings.ReplaceAll(text, "\r\n", "\n"))) // a buffer returns no error
	_ = w.Close()
}

// unstructured returns a text as a header field without a syntax has it: as it is, if programs then read it so.
func unstructured(s string) string {
	if s = oneLine(s); isPlain(s) && !strings.Contains(s, "=?") {
		return s
	}
	return encoded(s)
}

// phrase returns the name of an address: in quotes if it has characters with a meaning there.
func phrase(s string) string {
	switch s = oneLine(s); {
	case !isPlain(s):
		return encoded(s)
	case strings.ContainsAny(s, `"(),.:;<>@[\]`) || strings.Contains(s, "=?"):
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
	default:
		return s
	}
}

// lineLength is how many characters a line of a header should have at most.
const lineLength = 78

// isPlain reports whether a text is ASCII and keeps its blanks when a program folds and unfolds it.
func isPlain(s string) bool {
	longWord := slices.ContainsFunc(strings.Split(s, " "), func(word string) bool { return len(word) > lineLength-len("Subject: ") })
	return !longWord && !strings.Contains(s, "  ") && strings.TrimSpace(s) == s &&
		!strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII })
}

// encoded returns a text as encoded words of RFC 2047, each of which has whole characters.
func encoded(s string) string {
	const most = 42 // bytes, which are 56 characters of Base64
	var encodedWords []string
	for s = strings.ToValidUTF8(s, string(utf8.RuneError)); s != ""; {
		end := min(most, len(s))
		for end < len(s) && !utf8.RuneStart(s[end]) {
			end--
		}
		encodedWords = append(encodedWords, "=?utf-8?b?"+base64.StdEncoding.EncodeToString([]byte(s[:end]))+"?=")
		s = s[end:]
	}
	return strings.Join(encodedWords, " ")
}

// folded breaks a header field at blanks, so that its lines are short. No line is blank, since that would end the header.
func folded(field string) string {
	var b strings.Builder
	length := 0
	for i, word := range strings.Split(field, " ") {
		switch {
		case i == 0:
		case i > 1 && word != "" && length+1+len(word) > lineLength:
			b.WriteString("\r\n ")
			length = 1
		default:
			b.WriteByte(' ')
			length++
		}
		b.WriteString(word)
		length += len(word)
	}
	return b.String()
}

// oneLine replaces control characters: a line break would begin another field.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
}

// The parts of an HTTP archive.
type (
	harFile struct {
		Log harLog `json:"log"`
	}
	harLog struct {
		Version string     `json:"version"`
		Creator harCreator `json:"creator"`
		Entries []harEntry `json:"entries"`
	}
	harCreator struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	harEntry struct {
		Started  string      `json:"startedDateTime"`
		Time     float64     `json:"time"`
		Request  harRequest  `json:"request"`
		Response harResponse `json:"response"`
		Cache    struct{}    `json:"cache"`
		Timings  harTimings  `json:"timings"`
		Comment  string      `json:"comment,omitempty"`
	}
	harTimings struct {
		Send    float64 `json:"send"`
		Wait    float64 `json:"wait"`
		Receive float64 `json:"receive"`
	}
	harPair struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	harRequest struct {
		Method      string    `json:"method"`
		URL         string    `json:"url"`
		HTTPVersion string    `json:"httpVersion"`
		Cookies     []harPair `json:"cookies"`
		Headers     []harPair `json:"headers"`
		QueryString []harPair `json:"queryString"`
		PostData    *harBody  `json:"postData,omitempty"`
		HeadersSize int       `json:"headersSize"`
		BodySize    int       `json:"bodySize"`
	}
	harBody struct {
		Size     *int   `json:"size,omitempty"` // of a response
		MimeType string `json:"mimeType"`
		Text     string `json:"text,omitempty"`
		Encoding string `json:"encoding,omitempty"`
	}
	harResponse struct {
		Status      int       `json:"status"`
		StatusText  string    `json:"statusText"`
		HTTPVersion string    `json:"httpVersion"`
		Cookies     []harPair `json:"cookies"`
		Headers     []harPair `json:"headers"`
		Content     harBody   `json:"content"`
		RedirectURL string    `json:"redirectURL"`
		HeadersSize int       `json:"headersSize"`
		BodySize    int       `json:"bodySize"`
	}
)

// HAR returns exchanges as an HTTP archive 1.2. Their credentials are redacted, as in the
// history.
func HAR(baseURL string, exchanges ...*messagingtest.Exchange) ([]byte, error) {
	entries := []harEntry{}
	for _, e := range exchanges {
		entries = append(entries, newHAREntry(e, baseURL))
	}
	return json.MarshalIndent(harFile{harLog{"1.2", harCreator{"messaging sandbox", messaging.Version}, entries}}, "", "  ")
}

func newHAREntry(e *messagingtest.Exchange, baseURL string) harEntry {
	const version, unknown = "HTTP/1.1", -1
	took := float64(e.Took) / float64(time.Millisecond)
	size := len(e.ResponseBody)
	entry := harEntry{Started: e.At.Format(time.RFC3339Nano), Time: took, Timings: harTimings{Wait: took},
		Request: harRequest{Method: e.Request.Method, URL: baseURL + target(e.Request), HTTPVersion: version, Cookies: []harPair{},
			Headers: pairs(e.Request.Header), QueryString: pairs(http.Header(e.Request.Query)), HeadersSize: unknown, BodySize: len(e.Request.Body)},
		Response: harResponse{Status: e.Status, StatusText: http.StatusText(e.Status), HTTPVersion: version, Cookies: []harPair{},
			Headers: pairs(e.ResponseHeader), Content: newHARBody(e.ResponseHeader, e.ResponseBody), HeadersSize: unknown, BodySize: size}}
	entry.Response.Content.Size = &size
	if len(e.Request.Body) > 0 {
		body := newHARBody(e.Request.Header, e.Request.Body)
		entry.Request.PostData = &body
	}
	if e.Status == 0 {
		entry.Comment = "The client received no response."
	}
	return entry
}

func newHARBody(header http.Header, body []byte) harBody {
	b := harBody{MimeType: header.Get("Content-Type"), Text: string(body)}
	if !json.Valid(body) && strings.ToValidUTF8(b.Text, "") != b.Text {
		b.Text, b.Encoding = base64.StdEncoding.EncodeToString(body), "base64"
	}
	return b
}

func pairs(header http.Header) []harPair {
	list := []harPair{}
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, value := range header[name] {
			list = append(list, harPair{name, value})
		}
	}
	return list
}
