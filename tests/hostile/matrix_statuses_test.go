package hostile_test

import (
	"errors"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/faultserver"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

const (
	redirectHint = "redirects are not followed, check the base URL"
	// debugPage is the page of a framework in debug mode.
	debugPage = "<html><h1>SQLSTATE</h1><pre>DB_PASSWORD=hunter2 in /srv/app.php:12</pre></html>"
)

// hostileStatuses are redirects, error responses of many shapes, and statuses.
func hostileStatuses() []hostileRow {
	answer := faultserver.Respond
	return []hostileRow{
		{"301, 302 and 303, to anywhere", forEach([]int{301, 302, 303}, redirected).both(unclear, 1, 1).check(errorContains(redirectHint))},
		{"307 and 308, to anywhere", forEach([]int{307, 308}, redirected).both(unclear, 1, 1).check(errorContains(redirectHint))},
		{"a redirect from https to http", redirectedOverTLS().both(unclear, 1, 1).check(errorContains(redirectHint))},
		{"304", afterActing(faultserver.Write("HTTP/1.1 304 Not Modified\r\n\r\n")).both(unclear, 1, 1)},
		{"400 with every body of a refusal",
			forEach(refusalBodies(), func(body string) hostileCases { return withoutActing(answer(400, body)) }).both(rejected, 1, 0)},
		{"401 and 403, of the service and of a firewall", join(
			forEach(gatewayPages, func(body string) hostileCases { return withoutActing(answer(401, body)) }).both(rejected,
				1, 0).check(errorIs(messaging.ErrUnauthorized)),
			forEach(gatewayPages, func(body string) hostileCases { return withoutActing(answer(403, body)) }).both(rejected,
				1, 0).check(errorIs(messaging.ErrForbidden)),
		)},
		{"404, of the service and of another server", join(
			withoutActing(answer(404, `{"message":"No such event."}`)).check(hasMessage("No such event."), errorContains("check the base URL")),
			withoutActing(answer(404, "<html>Not Found</html>")).check(errorContains("check the base URL")),
			withoutActing(answer(404, "")).check(errorContains("check the base URL")),
		).both(rejected, 1, 0).check(errorIs(messaging.ErrNotFound))},
		{"405, 406 and 415", forEach([]int{405, 406, 415},
			func(status int) hostileCases { return withoutActing(answer(status, "")) }).both(rejected, 1, 0)},
		{"408 with the end of the connection",
			afterActing(answer(408, "", "Connection: close"), faultserver.Close).read(unclear, 3, 3).send(unclear, 1, 1)},
		{"409", withoutActing(answer(409, `{"message":"It exists."}`)).both(rejected, 1, 0).check(hasMessage("It exists."))},
		{"413 while the request is still being written", custom(testTooLargeARequest)},
		{"429 with a Retry-After that makes sense, or none", join(
			custom(testRetryAfterIsObeyed),
			join(
				rateLimited().both(rejected, 3, 0).check(hasRetryAfter(0)),
				rateLimited("Retry-After: 0").both(rejected, 3, 0).check(hasRetryAfter(0)),
				rateLimited("Retry-After: 5").both(rejected, 1, 0).check(hasRetryAfter(5*time.Second)),
				rateLimited("Retry-After: Sun, 06 Nov 1994 08:49:30 GMT", "Date: Sun, 06 Nov 1994 08:49:37 GMT").both(rejected,
					3, 0).check(hasRetryAfter(0)),
				rateLimited("Retry-After: Sun, 06 Nov 1994 09:49:37 GMT", "Date: Sun, 06 Nov 1994 08:49:37 GMT").both(rejected,
					1, 0).check(hasRetryAfter(time.Hour)),
			),
		)},
		{"429 with a Retry-After that makes no sense, or asks for too much", join(
			forEach([]string{"-5", "1e99", "NaN"},
				func(value string) hostileCases { return rateLimited("Retry-After: " + value) }).both(rejected, 3, 0).check(hasRetryAfter(0)),
			rateLimited("Retry-After: 0", "Retry-After: 7").both(rejected, 3, 0).check(hasRetryAfter(0)),
			rateLimited("Retry-After: 9999999999").both(rejected, 1, 0).check(hasRetryAfter(math.MaxInt64/time.Second*time.Second)),
			rateLimited("Retry-After: Sunday, 06-Nov-94 09:49:37 GMT", "Date: Sun, 06 Nov 1994 08:49:37 GMT").both(rejected,
				1, 0).check(hasRetryAfter(time.Hour)),
			rateLimited("Retry-After: Fri, 31 Dec 9999 23:59:59 GMT").both(rejected, 1, 0).check(hasRetryAfter(math.MaxInt64)),
		)},
		{"422 with a message and a map of fields", invalid(`{"message":"Invalid.","errors":{"subject":["is required","is too short"]}}`).
			check(hasMessage("Invalid.", scripted.FieldProblems("subject", "is required|is too short")...))},
		{"422 with an error of fields", join(
			invalid(`{"error":{"message":"Invalid.","fields":{"subject":["is required"]}}}`).check(
				hasMessage("Invalid.", scripted.FieldProblems("subject", "is required")...)),
			invalid(`{"error":{"subject":["is required"]}}`).check(hasMessage("", scripted.FieldProblems("subject", "is required")...)),
		)},
		{"422 with a list of fields", join(
			invalid(`{"errors":[{"field":"subject","message":"is required"}]}`).check(
				hasMessage("", scripted.FieldProblems("subject", "is required")...)),
			invalid(`[{"loc":["body","subject"],"msg":"is required"}]`).check(
				hasMessage("", scripted.FieldProblems("body.subject", "is required")...)),
		)},
		{"422 with errors that are texts", join(
			invalid(`{"errors":["a","b"]}`).check(hasMessage("a; b")),
			invalid(`{"errors":"a"}`).check(hasMessage("a")),
			invalid(`{"errors":{"subject":"is required"}}`).check(hasMessage("", scripted.FieldProblems("subject", "is required")...)),
		)},
		{"422 with nothing but a text",
			join(invalid(`{"error":"Invalid."}`), invalid(`{"message":"Invalid."}`), invalid(`"Invalid."`)).check(hasMessage("Invalid."))},
		{"422 with fields in its data",
			invalid(`{"success":false,"data":{"subject":["is required"]}}`).check(
				hasMessage("", scripted.FieldProblems("subject", "is required")...))},
		{"422 that says nothing", join(invalid(""), invalid("<html>"), invalid("[]"), invalid("null"), invalid(`{"`)).check(hasMessage(""),
			errorContains("422 Unprocessable Entity"))},
		{"422 with the path of a field", invalid(`{"errors":{"recipients.0.customers.1.email":["is invalid"]}}`).
			check(hasMessage("", scripted.FieldProblems("recipients.0.customers.1.email", "is invalid")...))},
		{"500 with a debug page", afterActing(answer(500, debugPage)).read(unclear, 3, 3).send(unclear, 1,
			1).check(errorIs(messaging.ErrServer), errorOmits("hunter2"))},
		{"502, 503, 504 and 520 to 526 with a page of HTML",
			forEach([]int{502, 503, 504, 520, 521, 522, 523, 524, 525, 526}, func(status int) hostileCases {
				return afterActing(answer(status, pageOfHTML))
			}).read(unclear, 3, 3).send(unclear, 1, 1).check(errorIs(messaging.ErrServer))},
		{"503 with a Retry-After", afterActing(answer(503, "", "Retry-After: 3600")).both(unclear, 1, 1).check(hasRetryAfter(time.Hour))},
		{"503 twice, then 200", onConnections(
			faultserver.Script{faultserver.ReadRequest, answer(503, "", "Connection: close")},
			faultserver.Script{faultserver.ReadRequest, answer(503, "", "Connection: close")},
			acting(answer(200, scripted.Success)),
		).read(succeeds, 3, 1).send(unclear, 1, 0)},
		{"503 with a body that drips",
			afterActing(faultserver.Write("HTTP/1.1 503 Busy\r\nContent-Length: 1000\r\n\r\n"), drip).withShortTimeout().
				read(unclear, 3, 3).send(unclear, 1, 1).check(errorIs(messaging.ErrServer))},
		{"statuses that are none",
			forEach([]int{0, 99, 600, 999}, func(status int) hostileCases { return afterActing(answer(status, "")) }).both(unclear, 1, 1)},
	}
}

// redirected is a redirect to the same host, to another host, or to an invalid URL.
func redirected(status int) hostileCases {
	return join(
		afterActing(faultserver.Respond(status, "", "Location: /elsewhere")),
		afterActing(faultserver.Respond(status, "")),
		servedBy(func(tb testing.TB) *faultserver.Server {
			return faultserver.Start(tb, acting(faultserver.Respond(status, scripted.Success, "Location: "+untouchedServer(tb))))
		}),
	)
}

func redirectedOverTLS() hostileCases {
	return servedBy(func(tb testing.TB) *faultserver.Server {
		return faultserver.StartTLS(tb, acting(faultserver.Respond(http.StatusFound, scripted.Success, "Location: "+untouchedServer(tb))))
	}).through(func(*http.Transport) {})
}

// untouchedServer is the URL of a server that must receive no connection.
func untouchedServer(tb testing.TB) string {
	other := faultserver.Start(tb, acting(faultserver.Respond(http.StatusOK, scripted.Success)))
	tb.Cleanup(func() { assert.Zero(tb, other.Connections(), "neither the key nor the body goes elsewhere") })
	return other.URL()
}

// refusalBodies are the bodies of the rows about 422.
func refusalBodies() []string {
	return []string{
		`{"message":"Invalid.","errors":{"subject":["is required"]}}`, `{"error":{"message":"Invalid.","fields":{"subject":["is required"]}}}`,
		`{"errors":[{"field":"subject","message":"is required"}]}`, `[{"loc":["body","subject"],"msg":"is required"}]`,
		`{"errors":["a","b"]}`, `{"error":"Invalid."}`, `"Invalid."`, `{"success":false,"data":{"subject":["is required"]}}`,
		``, `<html>`, `[]`, `null`, `{"`, `{"errors":{"recipients.0.customers.1.email":["is invalid"]}}`, strings.Repeat("x", 1<<20),
	}
}

// gatewayPages are the error pages of gateways. Some quote the key.
var gatewayPages = []string{
	`{"message":"No."}`, pageOfHTML, "", "<html>Blocked: " + scripted.SecretKey + "</html>",
	`{"message":"The key ` + scripted.SecretKey + ` is unknown."}`,
	strings.Repeat("x", scripted.MaxKeptBody-len(scripted.SecretKey)+1) + scripted.SecretKey, // which the limit cuts in two
	`{"errors":{"key":["` + strings.Replace(scripted.SecretKey, "_", `\u005f`, 1) + ` is unknown"]}}`,
}

func invalid(body string) hostileCases {
	return withoutActing(faultserver.Respond(http.StatusUnprocessableEntity, body)).both(rejected, 1,
		0).check(errorIs(messaging.ErrValidation))
}

// rateLimited responds 429 to a client that waits for a second at most.
func rateLimited(headers ...string) hostileCases {
	return withoutActing(faultserver.Respond(http.StatusTooManyRequests, "", headers...)).
		with(messaging.WithRetryPolicy(messaging.RetryPolicy{MinWait: time.Millisecond, MaxWait: time.Millisecond, MaxRetryAfter: time.Second})).
		check(errorIs(messaging.ErrRateLimited))
}

func testRetryAfterIsObeyed(t *testing.T) {
	for header, want := range map[string]time.Duration{"0": time.Second, "5": 5 * time.Second} {
		scripted.RunInBubble(t, header, func(t *testing.T) {
			client, transport := scripted.NewClient(t, []scripted.Scene{scripted.Responds(http.StatusTooManyRequests, "", "Retry-After", header)},
				messaging.WithRetryPolicy(messaging.RetryPolicy{MinWait: time.Second, MaxWait: time.Second}))
			_, err := listCustomers(t.Context(), client)
			requireOutcome(t, rejected, err)
			assert.Equal(t, []time.Duration{want, want}, transport.Waits())
		})
	}
}

// testTooLargeARequest allows for both ends of a race: the response may arrive, or
// the connection may break first. Neither is carried out or repeated.
func testTooLargeARequest(t *testing.T) {
	server := faultserver.Start(t,
		faultserver.Script{faultserver.ReadHead, faultserver.Respond(http.StatusRequestEntityTooLarge, ""), faultserver.Reset})
	client := newHostileClient(t, server)
	params := scripted.BroadcastTo(scripted.PersonalEmail)
	params.Message = strings.Repeat("x", 8<<20)
	_, err := client.Broadcasts.SendEmail(t.Context(), params)
	if errors.As(err, new(*messaging.APIError)) {
		requireOutcome(t, rejected, err)
	} else {
		requireOutcome(t, lost, err)
	}
	requireCounts(t, server, 0, 0)
	assert.Equal(t, 1, server.Connections())
}
