package hostile_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/messaging-go/messaging/internal/kit/faultserver"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

// hostileSizes are compressed and informational responses. Those that are too large or too
// slow are in bounds_test.go.
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
			afterActing(write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: chat\r\n\r\n"), faultserver.Hang).
				both(unclear, 1, 1).check(endsConnection)},
	}
}

var drip = faultserver.Forever(faultserver.Write("x"), func(*faultserver.Connection) error {
	time.Sleep(shortTimeout / 20)
	return nil
})

// endsConnection requires that the client has closed the connection.
func endsConnection(t *testing.T, o callResult) { requireHangUp(t, o.server) }
