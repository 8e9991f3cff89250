package hostile_test

import (
	"errors"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/messaging-go/messaging/internal/scripted"

	"github.com/stretchr/testify/assert"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/faultserver"
)

const (
	redirectHint = "redirects are not followed: check the base URL"
	// debugPage is what a framework shows when it was left in debug mode.
	debugPage = "<html><h1>SQLSTATE</h1><pre>DB_PASSWORD=hunter2 in /srv/app.php:12</pre></html>"
)

// hostileStatuses are redirects, refusals in all their shapes, and errors.
func hostileStatuses() []hostileRow {
	answer := faultserver.Answer
	return []hostileRow{
		{67, "301, 302 and 303, to anywhere", eachOf([]int{301, 302, 303}, redirected).both(unclear, 1, 1).where(tells(redirectHint))},
		{68, "307 and 308, to anywhere", eachOf([]int{307, 308}, redirected).both(unclear, 1, 1).where(tells(redirectHint))},
		{69, "a redirect from https to http", redirectedOverTLS().both(unclear, 1, 1).where(tells(redirectHint))},
		{70, "304", afterActing(faultserver.Write("HTTP/1.1 304 Not Modified\r\n\r\n")).both(unclear, 1, 1)},
		{71, "400 with every body of a refusal", eachOf(refusalBodies(), func(body string) hostileCases { return withoutActing(answer(400, body)) }).both(refused, 1, 0)},
		{72, "401 and 403, of the service and of a firewall", together(
			eachOf(doorkeepers, func(body string) hostileCases { return withoutActing(answer(401, body)) }).both(refused, 1, 0).where(is(messaging.ErrUnauthorized)),
			eachOf(doorkeepers, func(body string) hostileCases { return withoutActing(answer(403, body)) }).both(refused, 1, 0).where(is(messaging.ErrForbidden)),
		)},
		{73, "404, of the service and of another server", together(
			withoutActing(answer(404, `{"message":"No such event."}`)).where(complains("No such event."), keepsQuietAbout("base URL")),
			withoutActing(answer(404, "<html>Not Found</html>")).where(tells("check the base URL")),
			withoutActing(answer(404, "")).where(tells("check the base URL")),
		).both(refused, 1, 0).where(is(messaging.ErrNotFound))},
		{74, "405, 406 and 415", eachOf([]int{405, 406, 415}, func(status int) hostileCases { return withoutActing(answer(status, "")) }).both(refused, 1, 0)},
		{75, "408 with the end of the connection", afterActing(answer(408, "", "Connection: close"), faultserver.Close).read(unclear, 3, 3).send(unclear, 1, 1)},
		{76, "409", withoutActing(answer(409, `{"message":"It exists."}`)).both(refused, 1, 0).where(complains("It exists."))},
		{77, "413 while the request is still being written", tested(testTooLargeARequest)},
		{78, "429 with a Retry-After that makes sense, or none", together(
			tested(testRetryAfterIsObeyed),
			together(
				rateLimited().both(refused, 3, 0).where(waitsFor(0)),
				rateLimited("Retry-After: 0").both(refused, 3, 0).where(waitsFor(0)),
				rateLimited("Retry-After: 5").both(refused, 1, 0).where(waitsFor(5*time.Second)),
				rateLimited("Retry-After: Sun, 06 Nov 1994 08:49:30 GMT", "Date: Sun, 06 Nov 1994 08:49:37 GMT").both(refused, 3, 0).where(waitsFor(0)),
				rateLimited("Retry-After: Sun, 06 Nov 1994 09:49:37 GMT", "Date: Sun, 06 Nov 1994 08:49:37 GMT").both(refused, 1, 0).where(waitsFor(time.Hour)),
			),
		)},
		{79, "429 with a Retry-After that makes no sense, or asks for too much", together(
			eachOf([]string{"-5", "1.5", "1e99", "NaN"}, func(value string) hostileCases { return rateLimited("Retry-After: " + value) }).both(refused, 3, 0).where(waitsFor(0)),
			rateLimited("Retry-After: 0", "Retry-After: 7").both(refused, 3, 0).where(waitsFor(0)),
			rateLimited("Retry-After: 9999999999").both(refused, 1, 0).where(waitsFor(math.MaxInt64/time.Second*time.Second)),
			rateLimited("Retry-After: Sunday, 06-Nov-94 09:49:37 GMT", "Date: Sun, 06 Nov 1994 08:49:37 GMT").both(refused, 1, 0).where(waitsFor(time.Hour)),
			rateLimited("Retry-After: Fri, 31 Dec 9999 23:59:59 GMT").both(refused, 1, 0).where(waitsFor(math.MaxInt64)),
		)},
		{80, "422 with a message and a map of fields", invalid(`{"message":"Invalid.","errors":{"subject":["is required","is too short"]}}`).
			where(complains("Invalid.", scripted.FieldErrors("subject", "is required|is too short")...))},
		{81, "422 with an error of fields", together(
			invalid(`{"error":{"message":"Invalid.","fields":{"subject":["is required"]}}}`).where(complains("Invalid.", scripted.FieldErrors("subject", "is required")...)),
			invalid(`{"error":{"subject":["is required"]}}`).where(complains("", scripted.FieldErrors("subject", "is required")...)),
		)},
		{82, "422 with a list of fields", together(
			invalid(`{"errors":[{"field":"subject","message":"is required"}]}`).where(complains("", scripted.FieldErrors("subject", "is required")...)),
			invalid(`[{"loc":["body","subject"],"msg":"is required"}]`).where(complains("", scripted.FieldErrors("body.subject", "is required")...)),
		)},
		{83, "422 with errors that are texts", together(
			invalid(`{"errors":["a","b"]}`).where(complains("a; b")),
			invalid(`{"errors":"a"}`).where(complains("a")),
			invalid(`{"errors":{"subject":"is required"}}`).where(complains("", scripted.FieldErrors("subject", "is required")...)),
		)},
		{84, "422 with nothing but a text", together(invalid(`{"error":"Invalid."}`), invalid(`{"message":"Invalid."}`), invalid(`"Invalid."`)).where(complains("Invalid."))},
		{85, "422 with fields in its data", invalid(`{"success":false,"data":{"subject":["is required"]}}`).where(complains("", scripted.FieldErrors("subject", "is required")...))},
		{86, "422 that says nothing", together(invalid(""), invalid("<html>"), invalid("[]"), invalid("null"), invalid(`{"`)).where(complains(""), tells("422 Unprocessable Entity"))},
		{87, "422 with the path of a field", invalid(`{"errors":{"recipients.0.customers.1.email":["is invalid"]}}`).
			where(complains("", scripted.FieldErrors("recipients.0.customers.1.email", "is invalid")...))},
		{88, "422 without measure", together(
			invalid(`{"errors":{`+strings.TrimSuffix(strings.Repeat(`"field":["is required"],`, 1e5), ",")+`}}`),
			invalid(`{"message":"`+strings.Repeat("x", 10<<20)+`"}`),
			invalid(`{"errors":{"`+strings.Repeat("x", 30_000)+`":{`+strings.Repeat(`"a":["is required"],"b":["is required"],`, 800)+`"c":[]}}}`),
			invalid(`{"errors":{"subject":`+strings.Repeat(`{"rule":`, 1e5)+`1`+strings.Repeat(`}`, 1e5)+`}}`),
		).costing(16 << 20)},
		{89, "500 with a debug page", afterActing(answer(500, debugPage)).read(unclear, 3, 3).send(unclear, 1, 1).where(is(messaging.ErrServer), keepsQuietAbout("hunter2"))},
		{90, "502, 503, 504 and 520 to 526 with a page of HTML", eachOf([]int{502, 503, 504, 520, 521, 522, 523, 524, 525, 526}, func(status int) hostileCases {
			return afterActing(answer(status, pageOfHTML))
		}).read(unclear, 3, 3).send(unclear, 1, 1).where(is(messaging.ErrServer))},
		{91, "503 with a Retry-After", afterActing(answer(503, "", "Retry-After: 3600")).both(unclear, 1, 1).where(waitsFor(time.Hour))},
		{92, "503 twice, then 200", onConnections(
			faultserver.Script{faultserver.ReadRequest, answer(503, "", "Connection: close")},
			faultserver.Script{faultserver.ReadRequest, answer(503, "", "Connection: close")},
			acting(answer(200, scripted.Success)),
		).read(succeeds, 3, 1).send(unclear, 1, 0)},
		{93, "503 with a body that drips", afterActing(faultserver.Write("HTTP/1.1 503 Busy\r\nContent-Length: 1000\r\n\r\n"), drip).impatiently().
			read(unclear, 3, 3).send(unclear, 1, 1).where(is(messaging.ErrServer))},
		{94, "statuses that are none", eachOf([]int{0, 99, 600, 999}, func(status int) hostileCases { return afterActing(answer(status, "")) }).both(unclear, 1, 1)},
	}
}

// redirected leads elsewhere: to the same host, to another, or nowhere.
func redirected(status int) hostileCases {
	return together(
		afterActing(faultserver.Answer(status, "", "Location: /elsewhere")),
		afterActing(faultserver.Answer(status, "")),
		servedBy(func(tb testing.TB) *faultserver.Server {
			return faultserver.Start(tb, acting(faultserver.Answer(status, scripted.Success, "Location: "+untouched(tb))))
		}),
	)
}

func redirectedOverTLS() hostileCases {
	return servedBy(func(tb testing.TB) *faultserver.Server {
		return faultserver.StartTLS(tb, acting(faultserver.Answer(http.StatusFound, scripted.Success, "Location: "+untouched(tb))))
	}).through(func(*http.Transport) {})
}

// untouched is the URL of another server, which nobody must ever connect to.
func untouched(tb testing.TB) string {
	other := faultserver.Start(tb, acting(faultserver.Answer(http.StatusOK, scripted.Success)))
	tb.Cleanup(func() { assert.Zero(tb, other.Connections(), "neither the key nor the body goes elsewhere") })
	return other.URL()
}

// refusalBodies are the shapes of rows 80 to 88.
func refusalBodies() []string {
	return []string{
		`{"message":"Invalid.","errors":{"subject":["is required"]}}`, `{"error":{"message":"Invalid.","fields":{"subject":["is required"]}}}`,
		`{"errors":[{"field":"subject","message":"is required"}]}`, `[{"loc":["body","subject"],"msg":"is required"}]`,
		`{"errors":["a","b"]}`, `{"error":"Invalid."}`, `"Invalid."`, `{"success":false,"data":{"subject":["is required"]}}`,
		``, `<html>`, `[]`, `null`, `{"`, `{"errors":{"recipients.0.customers.1.email":["is invalid"]}}`, strings.Repeat("x", 1<<20),
	}
}

// doorkeepers are the bodies of those who let nobody in. Some quote the key.
var doorkeepers = []string{
	`{"message":"No."}`, pageOfHTML, "", "<html>Blocked: " + scripted.SecretKey + "</html>",
	`{"message":"The key ` + scripted.SecretKey + ` is unknown."}`,
	strings.Repeat("x", scripted.MaxKeptBody-len(scripted.SecretKey)+1) + scripted.SecretKey, // which the limit cuts in two
	`{"errors":{"key":["` + strings.Replace(scripted.SecretKey, "_", `\u005f`, 1) + ` is unknown"]}}`,
}

func invalid(body string) hostileCases {
	return withoutActing(faultserver.Answer(http.StatusUnprocessableEntity, body)).both(refused, 1, 0).where(is(messaging.ErrValidation))
}

// rateLimited answers a client that does not wait for longer than a second.
func rateLimited(headers ...string) hostileCases {
	return withoutActing(faultserver.Answer(http.StatusTooManyRequests, "", headers...)).
		with(messaging.WithRetryPolicy(messaging.RetryPolicy{MinWait: time.Millisecond, MaxWait: time.Millisecond, MaxRetryAfter: time.Second})).
		where(is(messaging.ErrRateLimited))
}

func testRetryAfterIsObeyed(t *testing.T) {
	for header, want := range map[string]time.Duration{"0": time.Second, "5": 5 * time.Second} {
		scripted.RunInBubble(t, header, func(t *testing.T) {
			client, transport := scripted.NewClient(t, []scripted.Scene{scripted.Responds(http.StatusTooManyRequests, "", "Retry-After", header)},
				messaging.WithRetryPolicy(messaging.RetryPolicy{MinWait: time.Second, MaxWait: time.Second}))
			_, err := listingCustomersPage(t.Context(), client)
			requireUpshot(t, refused, err)
			assert.Equal(t, []time.Duration{want, want}, transport.Waits())
		})
	}
}

// testTooLargeARequest does not decide a race: the refusal may arrive, or the
// connection break first. Neither is carried out, and neither is repeated.
func testTooLargeARequest(t *testing.T) {
	server := faultserver.Start(t, faultserver.Script{faultserver.ReadHead, faultserver.Answer(http.StatusRequestEntityTooLarge, ""), faultserver.Reset})
	client := newHostileClient(t, server)
	params := scripted.BroadcastTo(scripted.PersonalEmail)
	params.Message = strings.Repeat("x", 8<<20)
	_, err := client.Broadcasts.SendEmail(t.Context(), params)
	if errors.As(err, new(*messaging.APIError)) {
		requireUpshot(t, refused, err)
	} else {
		requireUpshot(t, lost, err)
	}
	requireCounts(t, server, 0, 0)
	assert.Equal(t, 1, server.Connections())
}
