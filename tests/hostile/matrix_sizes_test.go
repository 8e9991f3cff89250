package hostile_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/faultserver"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

// hostileSizes are responses that are too large, too slow, or compressed, and
// informational responses.
func hostileSizes() []hostileRow {
	write, repeat := faultserver.Write, faultserver.Repeat
	const gigabyte, affordable = 1 << 30, 80 << 20 // a buffer that has doubled up to the limit of 10 MiB
	tooLarge := []hostileCheck{errorIs(messaging.ErrTooLarge), errorContains("exceeds the limit of 10485760 bytes")}
	packed := scripted.Gzip(scripted.Success)
	return []hostileRow{
		{58, "a body of a gigabyte", join(
			afterActing(write(okLine+"Content-Length: 1073741824\r\n\r\n"), repeat(kilobyte, gigabyte/len(kilobyte))),
			afterActing(write(okLine+"Connection: close\r\n\r\n"), repeat(kilobyte, gigabyte/len(kilobyte))),
		).both(unreadable, 1, 1).check(tooLarge...).withinMemory(affordable)},
		{59, "a gigabyte packed into a megabyte",
			afterActing(faultserver.Respond(200, strings.Repeat(scripted.Gzip(strings.Repeat(" ", 1<<20)), gigabyte>>20), "Content-Encoding: gzip")).
				both(unreadable, 1, 1).check(tooLarge...).withinMemory(affordable)},
		{60, "a body that is packed badly, or in a way that was not asked for", join(
			responds200(packed).both(unreadable, 1, 1),
			afterActing(faultserver.Respond(200, packed, "Content-Encoding: br")).both(unreadable, 1, 1),
			afterActing(faultserver.Respond(200, packed, "Content-Encoding: gzip")).through(
				func(t *http.Transport) { t.DisableCompression = true }).both(unreadable, 1, 1),
			afterActing(faultserver.Respond(200, scripted.Success, "Content-Encoding: gzip")).read(lost, 3, 3).send(lost, 1,
				1).check(errorIs(gzip.ErrHeader)),
			afterActing(faultserver.Respond(200, packed[:len(packed)/2], "Content-Encoding: gzip")).read(lost, 3, 3).send(lost, 1,
				1).check(errorIs(io.ErrUnexpectedEOF)),
		)},
		{61, "a body that drips", afterActing(write(okLine+"Content-Length: 1000000\r\n\r\n"), drip).withShortTimeout().
			read(lost, 3, 3).send(lost, 1, 1).check(errorIs(messaging.ErrAttemptTimeout))},
		{62, "a head that drips", afterActing(write(okLine), drip).withShortTimeout().
			read(lost, 3, 3).send(lost, 1, 1).check(errorIs(messaging.ErrAttemptTimeout))},
		{63, "a header of 11 MiB, and ten thousand headers", join(
			afterActing(write(okLine+"X-Filler: "), repeat(kilobyte, 11<<10)),
			afterActing(write(okLine), repeat("X-Filler: "+kilobyte[:128]+"\r\n", 10_000), write("Content-Length: 0\r\n\r\n")),
		).read(lost, 3, 3).send(lost, 1, 1).withinMemory(affordable)},
		{64, "answers before the answer", join(
			afterActing(repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 1000), faultserver.Respond(200, scripted.Success)).both(succeeds, 1, 1),
			afterActing(repeat("HTTP/1.1 102 Processing\r\n\r\n", 1000), faultserver.Respond(200, scripted.Success)).both(succeeds, 1, 1),
			afterActing(repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 1_000_000)).read(lost, 3, 3).send(lost, 1, 1).withinMemory(affordable),
		)},
		{65, "100 Continue, and then nothing",
			afterActing(write("HTTP/1.1 100 Continue\r\n\r\n"), faultserver.Close).read(lost, 3, 3).send(lost, 1, 1)},
		{66, "101 to a request that asked for no other protocol",
			afterActing(write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: chat\r\n\r\n"), faultserver.Hang).
				both(unclear, 1, 1).check(endsConnection)},
	}
}

var kilobyte = strings.Repeat("x", 1<<10)

var drip = faultserver.Forever(faultserver.Write("x"), func(*faultserver.Connection) error {
	time.Sleep(shortTimeout / 20)
	return nil
})

// endsConnection requires that the client has closed the connection.
func endsConnection(t *testing.T, o callResult) { requireHangUp(t, o.server) }
