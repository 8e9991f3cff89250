package hostile_test

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/faultserver"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

// okLine is the beginning of a response that becomes invalid later.
const okLine = "HTTP/1.1 200 OK\r\n"

// unfinished is a response body of the service that is cut short.
const unfinished = `{"success":true,"data":[{"customer_id":"1"`

const pageOfHTML = "<html>\x1b[31m502 Bad Gateway\x00</html>"

// hostileBodies are bodies that are cut short or contradict their header, and statuses in
// the middle of something. Package internal/wire tests what a complete body says, and package
// internal/exchange what each status does.
func hostileBodies() []hostileRow {
	answer, write := faultserver.Respond, faultserver.Write
	return []hostileRow{
		{"JSON that breaks off just where Content-Length says",
			responds200(unfinished).both(unreadable, 1, 1).check(errorContains("not valid JSON"))},
		{"a body that is shorter than Content-Length says",
			afterActing(write(okLine+"Content-Length: 99\r\n\r\n"+unfinished), faultserver.Close).
				read(lost, 3, 3).send(lost, 1, 1).check(errorIs(io.ErrUnexpectedEOF))},
		{"JSON without a length that ends with the connection, in the middle",
			afterActing(write(okLine+"Connection: close\r\n\r\n"+unfinished), faultserver.Close).
				both(unreadable, 1, 1).check(errorContains("not valid JSON"))},
		{"a body that is longer than Content-Length says", custom(testLeftoverBytesAreIgnored("}"))},
		{"lengths that contradict each other, or are negative", join(
			afterActing(write(okLine+"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}\n")),
			afterActing(write(okLine+"Content-Length: -1\r\n\r\n"+scripted.Success)),
		).read(lost, 3, 3).send(lost, 1, 1)},
		{"chunks that are malformed, never end, or have a trailer", join(
			afterActing(chunked("zz\r\n")).read(lost, 3, 3).send(lost, 1, 1),
			afterActing(chunked("1\r\n{\r\n"), faultserver.Close).read(lost, 3, 3).send(lost, 1, 1).check(errorIs(io.ErrUnexpectedEOF)),
			afterActing(chunked(fmt.Sprintf("%x\r\n%s\r\n0\r\nSuccess: false\r\n\r\n", len(scripted.Success), scripted.Success))).both(succeeds, 1,
				1),
		)},
		{"204", afterActing(write("HTTP/1.1 204 No Content\r\n\r\n")).both(unreadable, 1, 1).check(errorContains("(204)"))},
		{"data and meta of an odd kind that nobody reads", join(
			responds200(`{"success":true}`, `{"success":true,"data":{}}`, `{"success":true,"data":"x"}`).send(succeeds, 1, 1),
			responds200(`{"success":true,"data":[],"meta":[]}`).read(succeeds, 1, 1),
		)},
		{"a redirect from https to http", redirectedOverTLS().both(unclear, 1, 1).check(errorContains("redirects are not followed"))},
		{"401 and 403, of the service and of a firewall", join(
			forEach(gatewayPages, func(body string) hostileCases { return withoutActing(answer(401, body)) }).
				both(rejected, 1, 0).check(errorIs(messaging.ErrUnauthorized)),
			forEach(gatewayPages, func(body string) hostileCases { return withoutActing(answer(403, body)) }).
				both(rejected, 1, 0).check(errorIs(messaging.ErrForbidden)),
		)},
		{"404, of the service and of another server", join(
			withoutActing(answer(404, `{"message":"No such event."}`)).check(errorContains("No such event.; check the base URL")),
			withoutActing(answer(404, "<html>Not Found</html>")).check(errorContains("check the base URL")),
		).both(rejected, 1, 0).check(errorIs(messaging.ErrNotFound))},
		{"413 while the request is still being written", custom(testTooLargeARequest)},
		{"503 with a body that drips",
			afterActing(write("HTTP/1.1 503 Busy\r\nContent-Length: 1000\r\n\r\n"), drip).withShortTimeout().
				read(unclear, 3, 3).send(unclear, 1, 1).check(errorIs(messaging.ErrServer))},
	}
}

// chunked writes a response with the given chunks.
func chunked(chunks string) faultserver.Step {
	return faultserver.Write(okLine + "Transfer-Encoding: chunked\r\nTrailer: Success\r\n\r\n" + chunks)
}

// testLeftoverBytesAreIgnored makes two calls: what follows the first response
// must not become the second.
func testLeftoverBytesAreIgnored(leftovers string) func(*testing.T) {
	return func(t *testing.T) {
		for name, call := range map[string]callFunc{"read": listCustomers, "send": sendBroadcast} {
			t.Run(name, func(t *testing.T) {
				yes := faultserver.Respond(http.StatusOK, scripted.Success)
				server := faultserver.Start(t, faultserver.Script{faultserver.ReadRequest, faultserver.Act, yes, faultserver.Write(leftovers),
					faultserver.Hang, faultserver.Act}, acting(yes))
				client := newHostileClient(t, server)
				_, err := call(t.Context(), client)
				requireOutcome(t, succeeds, err)
				requireCounts(t, server, 1, 2) // the second act is when the client has ended the connection
				_, err = call(t.Context(), client)
				requireOutcome(t, succeeds, err)
				requireCounts(t, server, 2, 3)
				assert.Equal(t, 2, server.Connections(), "the first connection is not used again")
			})
		}
	}
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

// gatewayPages are the error pages of gateways. Some quote the key.
var gatewayPages = []string{
	`{"message":"No."}`, pageOfHTML, "", "<html>Blocked: " + scripted.SecretKey + "</html>",
	`{"message":"The key ` + scripted.SecretKey + ` is unknown."}`,
	strings.Repeat("x", scripted.MaxKeptBody-len(scripted.SecretKey)+1) + scripted.SecretKey, // which the limit cuts in two
	`{"errors":{"key":["` + strings.Replace(scripted.SecretKey, "_", `\u005f`, 1) + ` is unknown"]}}`,
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

// hostileSizes are compressed and informational responses. Those that are too large or too
// slow are in package bounds_test.
func hostileSizes() []hostileRow {
	write, repeat := faultserver.Write, faultserver.Repeat
	packed := scripted.Gzip(scripted.Success)
	return []hostileRow{
		{"a body that is packed badly, or in a way that was not asked for", join(
			responds200(packed).both(unreadable, 1, 1),
			afterActing(faultserver.Respond(200, packed, "Content-Encoding: br")).both(unreadable, 1, 1),
			afterActing(faultserver.Respond(200, packed, "Content-Encoding: gzip")).through(
				func(t *http.Transport) { t.DisableCompression = true }).both(unreadable, 1, 1),
			afterActing(faultserver.Respond(200, scripted.Success, "Content-Encoding: gzip")).read(lost, 3, 3).send(lost, 1,
				1).check(errorIs(gzip.ErrHeader)),
			afterActing(faultserver.Respond(200, packed[:len(packed)/2], "Content-Encoding: gzip")).read(lost, 3, 3).send(lost, 1,
				1).check(errorIs(io.ErrUnexpectedEOF)),
		)},
		{"answers before the answer", join(
			afterActing(repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 1000), faultserver.Respond(200, scripted.Success)).both(succeeds, 1, 1),
			afterActing(repeat("HTTP/1.1 102 Processing\r\n\r\n", 1000), faultserver.Respond(200, scripted.Success)).both(succeeds, 1, 1),
		)},
		{"100 Continue, and then nothing",
			afterActing(write("HTTP/1.1 100 Continue\r\n\r\n"), faultserver.Close).read(lost, 3, 3).send(lost, 1, 1)},
		{"101 to a request that asked for no other protocol",
			afterActing(write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: chat\r\n\r\n"), faultserver.Hang,
				faultserver.Act).both(unclear, 1, 2)}, // the second act is when the client has closed the connection
	}
}

var drip = faultserver.Forever(faultserver.Write("x"), func(*faultserver.Connection) error {
	time.Sleep(shortTimeout / 20)
	return nil
})
