package browsertest

import (
	"bytes"
	"errors"
	"fmt"
	"image/color"
	"image/png"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// startOutside counts the connections to the sender of an email, which are more than requests: a preconnect sends
// none. The email leads there in every way.
func startOutside(t *testing.T) (accepted *atomic.Int64, hostile string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	accepted = new(atomic.Int64)
	go func() {
		for conn, err := listener.Accept(); err == nil; conn, err = listener.Accept() {
			accepted.Add(1)
			_ = conn.Close()
		}
	}()
	content, err := os.ReadFile("testdata/hostile.html")
	require.NoError(t, err)
	return accepted, strings.ReplaceAll(string(content), "PORT", fmt.Sprint(listener.Addr().(*net.TCPAddr).Port))
}

// The names to which a hostile email and the one without protection lead.
const hostileName, naiveName = "outside.test", "naive.test"

// checkLookups returns an error if the browser looked up a name of the hostile email, or none
// of the other one, which proves that the log has them.
func checkLookups(log string) error {
	content, err := os.ReadFile(log)
	if err != nil {
		return err
	}
	_, events, _ := strings.Cut(string(content), `"events":`) // before are the flags of the browser
	switch {
	case strings.Contains(events, hostileName):
		return errors.New("the browser looked up a name of the hostile email")
	case wentNaive.Load() && !strings.Contains(events, naiveName):
		return errors.New("the log of the browser has no names")
	}
	return nil
}

var wentNaive atomic.Bool

func TestPreviewOfAHostileEmailReachesNobody(t *testing.T) {
	accepted, message := startOutside(t)
	b := startBox(t)
	require.Equal(t, 200, b.send("POST", emailPath, email("Hostile", message)))
	p := openTab(t, b.ui+"/requests/1", 1280, "dark")
	paper, banner, yellow := color.RGBA{243, 239, 230, 255}, color.RGBA{20, 83, 45, 255}, color.RGBA{255, 220, 0, 255}
	previewTurns(p, 5, 5, paper)
	colorAt := preview(p)
	assert.Equal(t, banner, colorAt(40, 30), "the email keeps its styles")
	x, y := frameAt(p)
	// a link, a button, a link in a picture, and links whose address an animation sets
	for _, dy := range []float64{160, 210, 260, 310, 360, 410} {
		require.Equal(t, yellow, colorAt(300, dy))
		p.do(chromedp.MouseClickXY(x+300, y+dy), chromedp.MouseClickXY(x+300, y+dy, chromedp.ButtonMiddle),
			chromedp.MouseClickXY(x+300, y+dy, chromedp.ButtonModifiers(chromedp.ModifierCtrl)),
			chromedp.MouseClickXY(x+300, y+dy, chromedp.ButtonModifiers(chromedp.ModifierShift)))
	}
	require.Equal(t, yellow, preview(p)(300, 160), "the email is still there")
	assert.Equal(t, b.ui+"/requests/1", eval[string](p, `location.href`), "nothing navigated away")
	for _, tab := range []string{"source", "text", "exchange", "preview"} {
		p.click("[data-tab="+tab+"]", `document.querySelector("[data-tab=`+tab+`][aria-current]")`)
	}
	assert.Zero(t, accepted.Load())
}

// TestPreviewWouldReachTheSenderWithoutItsPolicy proves that the test above can
// fail: the same e-mail in a page without a policy calls home.
func TestPreviewWouldReachTheSenderWithoutItsPolicy(t *testing.T) {
	accepted, message := startOutside(t)
	message = strings.ReplaceAll(message, hostileName, naiveName)
	naive := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		page := message
		if r.URL.Path == "/" {
			page = `<!doctype html><iframe sandbox="" src="/mail" width=800 height=600></iframe>`
		}
		_, _ = fmt.Fprint(w, page)
	}))
	t.Cleanup(naive.Close)
	wentNaive.Store(true)
	p := openTab(t, "", 1280, "light")
	p.do(chromedp.Navigate(naive.URL))
	require.Eventually(t, func() bool { return accepted.Load() > 2 }, patience, 10*time.Millisecond)
}

// frameAt returns where the preview is in the window.
func frameAt(p *tab) (x, y float64) {
	p.t.Helper()
	at := eval[map[string]float64](p, `(({ x, y }) => ({ x, y }))(document.querySelector("iframe").getBoundingClientRect())`)
	return at["x"], at["y"]
}

// preview returns the colors of the points of the preview. The frame has its own origin, so only a screenshot shows
// what it looks like.
func preview(p *tab) func(dx, dy float64) color.RGBA {
	p.t.Helper()
	content, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	require.NoError(p.t, err)
	picture, err := png.Decode(bytes.NewReader(content))
	require.NoError(p.t, err)
	x, y := frameAt(p)
	return func(dx, dy float64) color.RGBA {
		return color.RGBAModel.Convert(picture.At(int(x+dx), int(y+dy))).(color.RGBA)
	}
}

func previewTurns(p *tab, dx, dy float64, want color.RGBA) {
	p.t.Helper()
	require.Eventually(p.t, func() bool { return preview(p)(dx, dy) == want }, patience, 10*time.Millisecond)
}

func TestAnEmailIsPreviewedInTheDark(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	message := "<style>body { background: #fff } @media (prefers-color-scheme: dark) { body { background: #102030 } }</style><p>Hi</p>"
	require.Equal(t, 200, b.send("POST", emailPath, email("Dark", message)))
	p := openTab(t, b.ui+"/requests/1", 1280, "light")
	previewTurns(p, 300, 300, color.RGBA{0xff, 0xff, 0xff, 0xff})
	p.click(".mail [name=dark]")
	previewTurns(p, 300, 300, color.RGBA{0x10, 0x20, 0x30, 0xff})
}
