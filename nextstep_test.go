package messaging_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

func TestNextStepString(t *testing.T) {
	words := map[messaging.NextStep]string{
		messaging.NextCheck:      "check what happened",
		messaging.NextNone:       "nothing to do",
		messaging.NextRetry:      "try again",
		messaging.NextFixRequest: "fix the request",
		messaging.NextFixSetup:   "fix the setup",
		messaging.NextStep(200):  "check what happened",
	}
	for step, want := range words {
		assert.Equal(t, want, fmt.Sprint(step))
	}
	assert.Zero(t, messaging.NextCheck, "a step that nobody set is to look")
}

func TestDeliveryAndNextStepAreWordsInData(t *testing.T) {
	deliveries := map[messaging.Delivery]string{messaging.DeliveryUnknown: "unknown", messaging.DeliveryNotSent: "not_sent",
		messaging.DeliveryRejected: "rejected", messaging.DeliveryAccepted: "accepted"}
	for delivery, word := range deliveries {
		requireWord(t, delivery, word)
	}
	steps := map[messaging.NextStep]string{messaging.NextCheck: "check", messaging.NextNone: "none", messaging.NextRetry: "retry",
		messaging.NextFixRequest: "fix_request", messaging.NextFixSetup: "fix_setup"}
	for step, word := range steps {
		requireWord(t, step, word)
	}
	var logged bytes.Buffer
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("done", "delivery", messaging.DeliveryNotSent, "step", messaging.NextFixSetup)
	assert.Contains(t, logged.String(), `"delivery":"not_sent","step":"fix_setup"`)

	delivery, step := messaging.DeliveryRejected, messaging.NextRetry
	for _, unknown := range []string{"", "not sent", "Accepted", "try again", "0"} {
		require.Error(t, delivery.UnmarshalText([]byte(unknown)), unknown)
		require.Error(t, step.UnmarshalText([]byte(unknown)), unknown)
	}
	assert.Equal(t, messaging.DeliveryRejected, delivery, "an unknown word changes nothing")
	assert.Equal(t, messaging.NextRetry, step)
	requireMarshaled(t, messaging.Delivery(200), "unknown")
	requireMarshaled(t, messaging.NextStep(200), "check")
}

func requireMarshaled(t *testing.T, value any, word string) {
	t.Helper()
	written, err := json.Marshal(value)
	require.NoError(t, err)
	require.JSONEq(t, strconv.Quote(word), string(written))
}

// requireWord checks that value is written as a word, and read from it.
func requireWord[T comparable](t *testing.T, value T, word string) {
	t.Helper()
	requireMarshaled(t, value, word)
	var read T
	require.NoError(t, json.Unmarshal([]byte(strconv.Quote(word)), &read))
	require.Equal(t, value, read)
}

// A mock returns an APIError with little more than a status. It must mean what the same response
// means to a real trigger.
func TestAnAPIErrorOfAMockMeansWhatItsStatusMeans(t *testing.T) {
	for status := 200; status < 600; status++ {
		for name, body := range map[string]string{"of the service": `{"success":false}`, "other JSON": `{}`, "HTML": "<html>", "text": "No."} {
			if status < 300 && name != "of the service" {
				continue // unreadable, and not a refusal
			}
			var real *messaging.APIError
			require.ErrorAs(t, scripted.FailureOf(t, scripted.TriggerEvent, scripted.Responds(status, body)), &real)
			mocks := []*messaging.APIError{{StatusCode: status, Body: []byte(body)}}
			if name == "of the service" {
				mocks = append(mocks, &messaging.APIError{Call: messaging.Call{Operation: messaging.OpTriggerEvent}, StatusCode: status})
			}
			for _, mock := range mocks {
				require.Equal(t, messaging.DeliveryOf(real), messaging.DeliveryOf(mock), "%d, %s", status, name)
				require.Equal(t, messaging.NextStepOf(real), messaging.NextStepOf(fmt.Errorf("send: %w", mock)), "%d, %s", status, name)
			}
		}
	}
	told := &messaging.APIError{Call: messaging.Call{Delivered: messaging.DeliveryAccepted}, StatusCode: 422}
	assert.Equal(t, messaging.DeliveryAccepted, messaging.DeliveryOf(told), "what the mock says is not changed")
	told = &messaging.APIError{Call: messaging.Call{Step: messaging.NextRetry}, StatusCode: 422}
	assert.Equal(t, messaging.NextRetry, messaging.NextStepOf(told))
	refused := &messaging.APIError{Call: messaging.Call{Operation: "trigger event"}, StatusCode: 422}
	assert.EqualError(t, refused, "trigger event: 422 Unprocessable Entity; the request was refused")
}

// expectation is what is known after a call that failed.
type expectation struct{ delivery, step string }

// golden is a row of the golden file: a cause, and what is expected of each kind of call.
type golden map[string]expectation

// readGoldenSteps reads testdata/nextstep.golden, which is written by hand.
func readGoldenSteps(t testing.TB) map[string]golden {
	t.Helper()
	const path = "testdata/nextstep.golden"
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	rows := make(map[string]golden)
	name := ""
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSuffix(line, "\n")
		cells := regexp.MustCompile(` {2,}`).Split(strings.TrimSpace(line), -1)
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case len(cells) == 1:
			name = cells[0]
			require.NotContains(t, rows, name, "%s has two rows for a cause", path)
			rows[name] = golden{}
		default:
			require.Len(t, cells, 3, "%s: %s", path, line)
			rows[name][cells[0]] = expectation{cells[1], cells[2]}
		}
	}
	return rows
}

func TestNextStepOfEveryCauseIsThatOfTheGoldenFile(t *testing.T) {
	rows := readGoldenSteps(t)
	for _, cause := range causes() {
		t.Run(cause.name, func(t *testing.T) {
			row := rows[cause.name]
			delete(rows, cause.name)
			found := golden{}
			for _, kind := range cause.everyKind() {
				err := cause.failIn(t, kind)
				found[kind] = expectation{messaging.DeliveryOf(err).String(), nameOf(messaging.NextStepOf(err))}
			}
			assert.Equal(t, row, found, "testdata/nextstep.golden, which is written by hand")
		})
	}
	assert.Empty(t, rows, "rows of testdata/nextstep.golden for which causes_test.go has no cause")
}

// TestACallIsRetriedIfItsNextStepIsRetry makes every attempt end alike. A wait that is too long is left to the caller.
func TestACallIsRetriedIfItsNextStepIsRetry(t *testing.T) {
	rows, others := readGoldenSteps(t), []string{"429 with a long Retry-After", "a cursor that leads back"}
	for _, cause := range causes() {
		if len(cause.scenes) != 1 || cause.patience > 0 || slices.Contains(others, cause.name) {
			continue
		}
		for _, kind := range cause.everyKind() {
			scripted.RunInBubble(t, cause.name+", "+kind, func(t *testing.T) {
				want := map[bool]int{true: 3, false: 1}[rows[cause.name][kind].step == "Retry"]
				requests, err := cause.failWithin(t, 3, kind)
				assert.Equal(t, want, requests)
				assert.Equal(t, rows[cause.name][kind].delivery, messaging.DeliveryOf(err).String())
			})
		}
	}
}

func TestDeliveryAndRetriesOfEveryStatus(t *testing.T) {
	for status := range 1000 {
		delivery, read, send := messaging.DeliveryUnknown, 1, 1
		switch {
		case status >= 200 && status <= 299:
			delivery = messaging.DeliveryAccepted
		case status == 429:
			delivery, read, send = messaging.DeliveryRejected, 3, 3
		case slices.Contains([]int{408, 425, 500, 502, 503, 504}, status), status >= 520 && status <= 599:
			read = 3
		case status >= 400 && status <= 499, status == 501, status == 505:
			delivery = messaging.DeliveryRejected
		}
		scripted.RunInBubble(t, fmt.Sprint(status), func(t *testing.T) {
			answered := cause{scenes: []scripted.Scene{scripted.Responds(status, scripted.Success)}}
			for kind, want := range map[string]int{aRead: read, aSend: send, aRepeatableSend: read} {
				requests, err := answered.failWithin(t, 3, kind)
				assert.Equal(t, delivery, messaging.DeliveryOf(err), kind)
				assert.Equal(t, want, requests, kind)
			}
		})
	}
}

// nameOf returns the name of a step, without the prefix Next.
func nameOf(step messaging.NextStep) string {
	return []string{"Check", "None", "Retry", "FixRequest", "FixSetup"}[step]
}

// TestNextStepOfEveryRefusal holds every 4xx against the lists of the statuses that differ.
func TestNextStepOfEveryRefusal(t *testing.T) {
	ofTheSetup := []int{401, 402, 403, 405, 406, 407, 410, 421, 423, 426, 428, 431, 451, 499}
	transient := []int{408, 425, 429}
	bodies := map[string]string{"JSON of the service": serviceJSON, "other JSON": otherJSON, "HTML": htmlPage, "an empty body": ""}
	for status := 400; status <= 499; status++ {
		for name, body := range bodies {
			want := messaging.NextFixSetup
			switch {
			case slices.Contains(transient, status):
				continue
			case slices.Contains(ofTheSetup, status):
			case body == serviceJSON, status == 422 && body == otherJSON, status == 413, status == 414:
				want = messaging.NextFixRequest
			}
			err := scripted.FailureOf(t, scripted.TriggerEvent, scripted.Responds(status, body))
			assert.Equal(t, want, messaging.NextStepOf(err), "%d with %s", status, name)
		}
	}
}

func TestNextStepOfAWrapperIsThatOfItsCause(t *testing.T) {
	for _, cause := range causes() {
		for _, kind := range cause.everyKind() {
			err := cause.failIn(t, kind)
			if err == nil {
				continue
			}
			want := messaging.NextStepOf(err)
			wrapped := fmt.Errorf("order 7: %w", err)
			assert.Equal(t, want, messaging.NextStepOf(wrapped), "%s of a %s", cause.name, kind)
			assert.Equal(t, want, messaging.NextStepOf(&messaging.PageError{Err: err}), "%s of a %s", cause.name, kind)
			assert.Equal(t, want, messaging.NextStepOf(errors.Join(err, wrapped)), "%s of a %s, joined with itself", cause.name, kind)
			assert.Equal(t, want == messaging.NextRetry, messaging.NextStepOf(wrapped) == messaging.NextRetry)
		}
	}
}

func TestNextStepOfAFailedReadIsNeverNone(t *testing.T) {
	for name, row := range readGoldenSteps(t) {
		if read, reads := row[aRead]; reads && name != "no failure" {
			assert.NotContains(t, []string{"None", "Check"}, read.step, name)
		}
	}
}

// safeToRetry is what only the text of an error says whose step is NextRetry.
const safeToRetry = "safe to retry"

func requireTrueText(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	if text := err.Error(); strings.Contains(text, safeToRetry) {
		assert.Equal(t, messaging.NextRetry, messaging.NextStepOf(err), text)
	}
}

// readmeSteps are the rows of the README's table, with the causes that show that they are
// true of a send.
var readmeSteps = map[string][]string{
	"the service confirmed success, even if its data has an unexpected form": {"no failure", "2xx with success true and unreadable data"},
	"no connection (temporary), 429, the context was already done": {"connection refused", "the name server failed",
		"connecting took too long", "429 with JSON of the service", "429 with HTML", "the context ended before the call"},
	"invalid arguments, refused by a guard, 422, `\"success\": false`, 404 of a trigger or a broadcast": {"invalid arguments",
		"refused by a guard",
		"422 with JSON of the service", "422 with other JSON", "2xx with success false", "404 with JSON of the service"},
	"401, 403, any other 404 (for example, the base URL is wrong), no such host, bad certificate": {"401 with JSON of the service",
		"403 with HTML", "404 with HTML",
		"404 with other JSON", "404 of a creation with JSON of the service", "no such host", "bad certificate", "invalid arguments of NewClient"},
	"a lost response, a timeout, 3xx, 408, 425, most 5xx": {"EOF", "connection reset", "attempt timeout", "408 with HTML",
		"425 with HTML", "500 with JSON of the service", "502 with HTML", "503 with HTML", "504 with HTML", "520 with HTML", "302 with HTML"},
}

func TestNextStepTableOfTheReadmeIsTrue(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	row := regexp.MustCompile("(?m)^\\| (.*?) \\| `Next(None|Retry|FixRequest|FixSetup|Check)` \\| .* \\|$")
	rows := row.FindAllStringSubmatch(string(readme), -1)
	assert.Len(t, rows, len(readmeSteps))
	var steps []string
	for _, row := range rows {
		names := readmeSteps[row[1]]
		assert.NotEmpty(t, names, "nothing shows that this is true: %s", row[1])
		for _, name := range names {
			cause := causeNamed(t, name)
			kind := aSend
			if cause.err != nil {
				kind = noCall
			}
			assert.Equal(t, row[2], nameOf(messaging.NextStepOf(cause.failIn(t, kind))), "%s: %s", row[1], name)
		}
		steps = append(steps, row[2])
	}
	assert.ElementsMatch(t, []string{"None", "Retry", "FixRequest", "FixSetup", "Check"}, steps, "each step has its row")
}

// documentedSteps are the rows of the table in doc.go, with the causes that show that they are true.
var documentedSteps = map[string][]string{
	"invalid arguments, a guard's refusal":    {"invalid arguments", "refused by a guard", "refused by WithAllowOnly"},
	"not begun: key source, limiter, context": {"the key source failed", "the rate limiter failed", "the context ended before the call"},
	"not begun: malformed API key":            {"malformed API key of the key source"},
	"no connection (temporary)": {"connection refused", "the name server failed", "the name server did not answer", "connecting took too long",
		"the handshake took too long", "the handshake was reset", "the handshake broke off", "the handshake broke off within a record",
		"the server closed the idle connection", "the proxy cannot be reached", "attempt timeout while connecting",
		"the context ended while connecting"},
	"no connection: host, certificate or proxy": {"no such host", "bad certificate", "bad certificate, within a net.Error",
		"bad certificate of the proxy", "the handshake was refused", "https to a port that speaks http", "the proxy rejected CONNECT",
		"the proxy rejected SOCKS"},
	"an unknown error from your transport": {"an unknown error of a custom transport", "a custom transport without a response or an error"},
	"connected, no response": {"EOF", "connection reset", "connection refused once connected", "attempt timeout", "malformed HTTP",
		"an unknown error once connected"},
	"connected, and the caller's context ended": {"the context ended once connected"},
	"429": {"429 with JSON of the service", "429 with HTML", "429 with a long Retry-After"},
	"408, 425, 500, 502, 503, 504, 520 to 599": {"408 with HTML", "425 with HTML", "500 with HTML", "502 with HTML", "503 with HTML",
		"504 with HTML", "520 with HTML", "599 with JSON of the service"},
	"422 with JSON, 413, 414, most other 4xx (2)": {"422 with other JSON", "422 with a JSON array", "413 with an empty body",
		"414 with HTML", "400 with JSON of the service", "409 with JSON of the service", "418 with JSON of the service"},
	"404 (2)": {"404 with JSON of the service"},
	"any other 4xx, 501, 505": {"400 with HTML", "401 with JSON of the service", "403 with HTML", "404 with other JSON", "422 with HTML",
		"499 with JSON of the service", "501 with HTML", "505 with HTML"},
	"3xx, 101, 511, any other status": {"302 with HTML", "304 with HTML", "101 with HTML", "506 with HTML", "511 with HTML",
		"600 with HTML"},
	"2xx with success false; a trigger with data false": {"2xx with success false", "2xx with success true and data false"},
	"2xx with a truncated body":                         {"2xx cut short"},
	"2xx that is not from the service, such as HTML": {"2xx with HTML", "2xx with text", "2xx with an empty body", "204",
		"2xx without success", "2xx with success as a string", "2xx with success twice", "2xx with data twice", "2xx that is too large"},
	"2xx with success true and unreadable data": {"2xx with success true and unreadable data"},
}

func TestNextStepTableOfTheDocumentationIsTrue(t *testing.T) {
	source, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	rows := regexp.MustCompile(`(?m)^//\t(.*?) {2,}(not sent|unknown|rejected|accepted) +(\w+) +(\w+)( \(1\))?$`).
		FindAllStringSubmatch(string(source), -1)
	assert.Len(t, rows, len(documentedSteps))
	golden := readGoldenSteps(t)
	for _, row := range rows {
		assert.NotEmpty(t, documentedSteps[row[1]], "nothing shows that this is true: %s", row[1])
		for _, name := range documentedSteps[row[1]] {
			if read, reads := golden[name][aRead]; reads {
				assert.Equal(t, row[3], read.step, "%s: %s", row[1], name)
			}
			assert.Equal(t, expectation{row[2], row[4]}, golden[name][aSend], "%s: %s", row[1], name)
			repeatable := map[bool]string{true: "Retry", false: row[4]}[row[5] != ""]
			assert.Equal(t, expectation{row[2], repeatable}, golden[name][aRepeatableSend], "%s: %s", row[1], name)
		}
	}
}

// errorTree is an error, and the step that it should have. Without a step, it is ignored
// where errors are joined.
type errorTree struct {
	err     error
	step    messaging.NextStep
	hasStep bool
}

func newErrorTree(err error, step string) errorTree {
	var has interface{ NextStep() messaging.NextStep }
	return errorTree{err, stepNamed(step), errors.As(err, &has)}
}

// leaves are the errors that a tree is made of.
func leaves(tb testing.TB) []errorTree {
	rows := readGoldenSteps(tb)
	var all []errorTree
	for _, name := range []string{"429 with HTML", "EOF", "connection refused", "422 with JSON of the service", "401 with HTML",
		"2xx with success true and unreadable data", "2xx with HTML", "invalid arguments", "refused by a guard", "no such host"} {
		for _, kind := range []string{aRead, aSend, aRepeatableSend} {
			if want, known := rows[name][kind]; known {
				all = append(all, newErrorTree(causeNamed(tb, name).fail(tb, kind), want.step))
			}
		}
	}
	for _, other := range causesOfOtherErrors() {
		all = append(all, newErrorTree(other.fail(tb, noCall), rows[other.name][noCall].step))
	}
	return all
}

func stepNamed(name string) messaging.NextStep {
	for step := range messaging.NextFixSetup + 1 {
		if nameOf(step) == name {
			return step
		}
	}
	return messaging.NextCheck
}

// grow makes a tree of the leaves as the program says: each byte adds a leaf, wraps the last
// tree or joins the last few.
func grow(leaves []errorTree, program []byte) errorTree {
	stack := []errorTree{leaves[0]}
	for _, b := range program {
		last := &stack[len(stack)-1]
		switch operation := int(b) - len(leaves); {
		case operation < 0:
			stack = append(stack, leaves[b])
		case operation == 0:
			last.err = fmt.Errorf("wrapped: %w", last.err)
		case operation == 1:
			last.err, last.hasStep = &messaging.PageError{Err: last.err}, true
		case operation == 2:
			*last = errorTree{emptyWrapper{last.err}, messaging.NextCheck, false}
		default:
			parts := stack[max(0, len(stack)-operation%5):]
			stack = append(stack[:len(stack)-len(parts)], join(parts))
		}
	}
	return join(stack)
}

// join joins trees, and says what the step of the result is in the words of the
// documentation.
func join(parts []errorTree) errorTree {
	joined := make([]error, len(parts))
	var steps []messaging.NextStep
	for i, part := range parts {
		joined[i] = part.err
		if part.hasStep {
			steps = append(steps, part.step)
		}
	}
	has := func(step messaging.NextStep) bool { return slices.Contains(steps, step) }
	step := messaging.NextRetry
	switch {
	case len(steps) == 0, has(messaging.NextCheck):
		step = messaging.NextCheck
	case has(messaging.NextNone):
		step = messaging.NextNone
		if slices.ContainsFunc(parts, func(part errorTree) bool { return part.step != messaging.NextNone }) {
			step = messaging.NextCheck
		}
	case has(messaging.NextFixSetup):
		step = messaging.NextFixSetup
	case has(messaging.NextFixRequest):
		step = messaging.NextFixRequest
	}
	return errorTree{joinedErrors(joined), step, len(steps) > 0}
}

// joinedErrors is like errors.Join, but not nil if it joins nothing.
type joinedErrors []error

func (e joinedErrors) Error() string   { return fmt.Sprint([]error(e)) }
func (e joinedErrors) Unwrap() []error { return e }

func FuzzNextStepOfErrorTrees(f *testing.F) {
	leaves := leaves(f)
	wrap, page, nothing, all := byte(len(leaves)), byte(len(leaves)+1), byte(len(leaves)+2), byte(len(leaves)+4)
	f.Add([]byte{})
	f.Add([]byte{1, wrap, 2, page, all})
	f.Add([]byte{3, 3, all, 4, wrap, all, nothing})
	f.Add([]byte{5, 5, 5, all, 6, all, page})
	for leaf := range leaves {
		f.Add([]byte{byte(leaf), wrap, byte(leaf), all, page})
	}
	f.Fuzz(func(t *testing.T, program []byte) {
		tree := grow(leaves, program)
		step := messaging.NextStepOf(tree.err)
		require.Equal(t, tree.step, step)
		require.Equal(t, step == messaging.NextRetry, messaging.NextStepOf(tree.err) == messaging.NextRetry)
		_ = messaging.DeliveryOf(tree.err)
		requireTrueTexts(t, tree.err)
	})
}

// requireTrueTexts checks the text of every error in a tree whose text is that of one call.
func requireTrueTexts(t *testing.T, err error) {
	switch e := err.(type) {
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			requireTrueTexts(t, part)
		}
	case *messaging.APIError, *messaging.TransportError, *messaging.DecodeError, *messaging.ValidationError, *messaging.GuardError:
		requireTrueText(t, err)
	case *messaging.PageError:
		if e != nil {
			requireTrueTexts(t, e.Err)
		}
	}
}
