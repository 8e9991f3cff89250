package hostile_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/faultserver"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

// okLine is the beginning of a response that becomes invalid later.
const okLine = "HTTP/1.1 200 OK\r\n"

// unfinished is a response body of the service that is cut short.
const unfinished = `{"success":true,"data":[{"customer_id":"1"`

const pageOfHTML = "<html>\x1b[31m502 Bad Gateway\x00</html>"

// hostileBodies are bodies that are cut short, contradict their header or
// themselves, or are not a response of the service.
func hostileBodies() []hostileRow {
	const reset = "\x1b[0m\x00\r\nforged: line"
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
		{"200 with nothing in it", responds200("").both(unreadable, 1, 1)},
		{"204", afterActing(write("HTTP/1.1 204 No Content\r\n\r\n")).both(unreadable, 1, 1).check(errorContains("(204)"))},
		{"201 and 202 that say success", join(
			afterActing(answer(201, scripted.Success)).both(succeeds, 1, 1).check(hasStatus(201)),
			afterActing(answer(202, scripted.Success)).both(succeeds, 1, 1).check(hasStatus(202)),
		)},
		{"203 and 206 that say success", join(
			afterActing(answer(203, scripted.Success)).both(succeeds, 1, 1).check(hasStatus(203)),
			afterActing(answer(206, scripted.Success)).both(succeeds, 1, 1).check(hasStatus(206)),
		)},
		{"200 with a page of HTML", afterActing(answer(200, pageOfHTML, "Content-Type: text/html")).
			both(unreadable, 1, 1).check(errorContains("HTML or XML, not JSON"), hasBody(pageOfHTML), errorOmits("502"))},
		{"200 with a sound answer that calls itself text",
			afterActing(answer(200, scripted.Success, "Content-Type: text/plain")).both(succeeds, 1, 1)},
		{"200 with a page of HTML that calls itself JSON", afterActing(answer(200, pageOfHTML, "Content-Type: application/json")).
			both(unreadable, 1, 1).check(hasBody(pageOfHTML))},
		{"200 with JSON that is no object",
			responds200(`null`, `[]`, `"ok"`, `1`, `true`).both(unreadable, 1, 1).check(errorContains("not an object"))},
		{"200 with an empty object", responds200(`{}`).both(unreadable, 1, 1).check(errorContains("success is missing"))},
		{"200 that says no success", withoutActing(answer(200, scripted.Failure)).both(rejected, 1, 0).check(hasMessage("No."))},
		{"200 whose success only looks true", responds200(`{"success":"true"}`, `{"success":1}`, `{"success":null}`).
			both(unreadable, 1, 1).check(errorContains("not a boolean"))},
		{"an error status that says success", join(
			withoutActing(answer(400, scripted.Success)).both(rejected, 1, 0),
			afterActing(answer(500, scripted.Success)).read(unclear, 3, 3).send(unclear, 1, 1),
		)},
		{"201 that says no success, and why", withoutActing(answer(201, `{"success":false,"errors":{"subject":["is required"]}}`)).
			both(rejected, 1, 0).check(hasMessage("", scripted.FieldProblems("subject", "is required")...))},
		{"success twice", responds200(`{"success":false,"success":true}`, `{"success":true,"success":false}`).
			both(unreadable, 1, 1).check(errorContains("success is duplicated"))},
		{"success in another case",
			responds200(`{"Success":true}`, `{"SUCCESS":true}`).both(unreadable, 1, 1).check(errorContains("success is missing"))},
		{"text or a second document after the first",
			responds200(scripted.Success+"ok", scripted.Success+scripted.Success).both(unreadable,
				1, 1).check(errorContains("followed by more text"))},
		{"a byte order mark before JSON", responds200("\uFEFF"+scripted.Success).both(succeeds, 1, 1)},
		{"UTF-16", responds200(scripted.UTF16(scripted.Success), scripted.UTF16(scripted.Success)[2:]).both(unreadable, 1, 1)},
		{"text that is no UTF-8, and half a surrogate pair", join(
			responds200(`{"success":true,"data":[{"customer_id":"a`+"\xff"+`"}]}`).both(succeeds, 1, 1).check(hasID("a\uFFFD")),
			responds200(`{"success":true,"data":[{"customer_id":"a\ud800"}]}`).both(succeeds, 1, 1).check(hasID("a\uFFFD")),
			responds200(`{"success":true,"data":[],"meta":{"next_page_cursor":"a`+"\xff"+`"}}`).
				read(unreadable, 1, 1).send(succeeds, 1, 1).check(onlyOnFailure(errorContains("next_page_cursor is not valid UTF-8"))),
			responds200(`{"success":true,"data":[],"meta":{"next_page_cursor":"a\udc00"}}`).
				read(unreadable, 1, 1).send(succeeds, 1, 1).check(onlyOnFailure(errorContains("next_page_cursor is not valid UTF-8"))),
		)},
		{"control characters in a message", withoutActing(answer(400, `{"message":"\u001b[0m\u0000\r\nforged: line"}`)).
			both(rejected, 1, 0).check(hasMessage(reset), errorContains(`\x1b[0m\x00\r\nforged: line`))},
		{"lists nested 10,001 deep", join(
			responds200(`{"success":true,"more":`+scripted.NestedArrays(10_001)+`}`).check(errorContains("more is not valid JSON")),
		).both(unreadable, 1, 1)},
		{"a text of a million characters and a number of 100,000 digits", join(
			responds200(`{"success":true,"data":[{"customer_id":"`+strings.Repeat("x", 1e6)+`"}]}`).both(succeeds,
				1, 1).check(hasID(strings.Repeat("x", 1e6))),
			responds200(`{"success":true,"data":[{"total_sent":`+strings.Repeat("9", 1e5)+`}]}`).reading(listMessages).
				both(succeeds, 1, 1),
		)},
		{"members that nobody knows",
			responds200(`{"success":true,"version":2,"data":[],"meta":{"total":1},"links":{"next":null}}`).both(succeeds, 1, 1)},
		{"a send whose data is missing, or anything",
			responds200(`{"success":true}`, `{"success":true,"data":null}`, `{"success":true,"data":{}}`, `{"success":true,"data":"x"}`).
				send(succeeds, 1, 1)},
		{"a trigger whose data is false, null or missing", join(
			withoutActing(answer(200, `{"success":true,"data":false}`)).sending(triggerEvent).send(rejected, 1, 0),
			responds200(`{"success":true,"data":null}`, `{"success":true}`).sending(triggerEvent).send(succeeds, 1, 1),
		)},
		{"a created event that is null, a list, or without an id", join(
			responds200(`{"success":true,"data":null}`, `{"success":true}`, `{"success":true,"data":[{"id":"1"}]}`).check(errorContains("data ")),
			responds200(`{"success":true,"data":{"name":"order_paid"}}`,
				`{"success":true,"data":{"id":""}}`).check(errorContains("data.id is missing")),
		).sending(createEvent).send(acceptedUnreadable, 1, 1).check(errorContains("the event was created, do not repeat it"))},
	}
}

// chunked writes a response with the given chunks.
func chunked(chunks string) faultserver.Step {
	return faultserver.Write(okLine + "Transfer-Encoding: chunked\r\nTrailer: Success\r\n\r\n" + chunks)
}

// hasID requires the id of the only customer on a page.
func hasID(id string) hostileCheck {
	return func(t *testing.T, o callResult) {
		if _, isPage := o.value.(*messaging.Page[messaging.Customer]); isPage {
			hasItems(messaging.Customer{CustomerID: id})(t, o)
		}
	}
}

// onlyOnFailure applies a check to failed calls only.
func onlyOnFailure(check hostileCheck) hostileCheck {
	return func(t *testing.T, o callResult) {
		if o.err != nil {
			check(t, o)
		}
	}
}

// testLeftoverBytesAreIgnored makes two calls: what follows the first response
// must not become the second.
func testLeftoverBytesAreIgnored(leftovers string) func(*testing.T) {
	return func(t *testing.T) {
		for name, call := range map[string]callFunc{"read": listCustomers, "send": sendBroadcast} {
			t.Run(name, func(t *testing.T) {
				yes := faultserver.Respond(http.StatusOK, scripted.Success)
				server := faultserver.Start(t,
					faultserver.Script{faultserver.ReadRequest, faultserver.Act, yes, faultserver.Write(leftovers), faultserver.Hang}, acting(yes))
				client := newHostileClient(t, server)
				_, err := call(t.Context(), client)
				requireOutcome(t, succeeds, err)
				requireHangUp(t, server)
				_, err = call(t.Context(), client)
				requireOutcome(t, succeeds, err)
				requireCounts(t, server, 2, 2)
				assert.Equal(t, 2, server.Connections(), "the first connection is not used again")
			})
		}
	}
}

// requireHangUp waits until the client has ended a connection.
func requireHangUp(t *testing.T, server *faultserver.Server) {
	t.Helper()
	select {
	case <-server.HangUps():
	case <-time.After(5 * time.Minute):
		require.FailNow(t, "the client keeps the connection")
	}
}
