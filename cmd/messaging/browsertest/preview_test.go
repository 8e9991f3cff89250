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

// outside is a server of the sender of an email. It counts the connections that
// it accepts, which are more than requests: a preconnect sends none.
type outside struct {
	net.Listener
	accepted atomic.Int64
}

func (o *outside) Accept() (net.Conn, error) {
	conn, err := o.Listener.Accept()
	if err == nil {
		o.accepted.Add(1)
	}
	return conn, err
}

// startOutside starts the server, and returns an email that leads to it in every way.
func startOutside(t *testing.T) (o *outside, hostile string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	o = &outside{Listener: listener}
	server := &http.Server{Handler: http.NotFoundHandler()}
	go func() { _ = server.Serve(o) }()
	t.Cleanup(func() { _ = server.Close() })
	content, err := os.ReadFile("testdata/hostile.html")
	require.NoError(t, err)
	return o, strings.ReplaceAll(string(content), "PORT", fmt.Sprint(listener.Addr().(*net.TCPAddr).Port))
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
	far, message := startOutside(t)
	b := startBox(t)
	require.Equal(t, 200, b.send("POST", emailPath, email(t, "Hostile", message)))
	p := openTab(t, b.ui+"/requests/1", 1280, "dark")

	paper := color.RGBA{243, 239, 230, 255}
	require.Eventually(t, func() bool { return frameColor(p, 5, 5) == paper }, patience, 10*time.Millisecond, "the email keeps its styles")
	assert.Equal(t, color.RGBA{20, 83, 45, 255}, frameColor(p, 40, 30), "the email keeps its styles")
	x, y := frameAt(p)
	// a link, a button, a link in a picture, and links whose address an animation sets
	for _, dy := range []float64{160, 210, 260, 310, 360, 410} {
		require.Equal(t, color.RGBA{255, 220, 0, 255}, frameColor(p, 300, dy))
		p.do(chromedp.MouseClickXY(x+300, y+dy), chromedp.MouseClickXY(x+300, y+dy, chromedp.ButtonMiddle),
			chromedp.MouseClickXY(x+300, y+dy, chromedp.ButtonModifiers(chromedp.ModifierCtrl)),
			chromedp.MouseClickXY(x+300, y+dy, chromedp.ButtonModifiers(chromedp.ModifierShift)))
	}
	require.Equal(t, color.RGBA{255, 220, 0, 255}, frameColor(p, 300, 160), "the email is still there")
	for _, tab := range []string{"source", "text", "exchange"} {
		p.show(b.ui + "/requests/1?tab=" + tab)
	}
	p.show(b.ui + "/requests/1")
	assert.Equal(t, b.ui+"/requests/1", eval[string](p, `location.href`), "nothing navigated away")

	assert.Zero(t, far.accepted.Load())
}

// TestPreviewWouldReachTheSenderWithoutItsPolicy proves that the test above can
// fail: the same e-mail in a page without a policy calls home.
func TestPreviewWouldReachTheSenderWithoutItsPolicy(t *testing.T) {
	far, message := startOutside(t)
	message = strings.ReplaceAll(message, hostileName, naiveName)
	naive := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/" {
			_, _ = fmt.Fprint(w, `<!doctype html><iframe sandbox="" src="/mail" width=800 height=600></iframe>`)
			return
		}
		_, _ = fmt.Fprint(w, message)
	}))
	t.Cleanup(naive.Close)
	wentNaive.Store(true)
	p := openTab(t, "about:blank", 1280, "light")
	p.do(chromedp.Navigate(naive.URL))
	require.Eventually(t, func() bool { return far.accepted.Load() > 2 }, patience, 10*time.Millisecond)
}

// frameAt returns where the preview is in the window.
func frameAt(p *tab) (x, y float64) {
	p.t.Helper()
	at := eval[map[string]float64](p, `(({ x, y }) => ({ x, y }))(document.querySelector("iframe").getBoundingClientRect())`)
	return at["x"], at["y"]
}

// frameColor returns the color of a point of the preview. The frame has its own
// origin, so only a screenshot shows what it looks like.
func frameColor(p *tab, dx, dy float64) color.RGBA {
	p.t.Helper()
	content, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	require.NoError(p.t, err)
	picture, err := png.Decode(bytes.NewReader(content))
	require.NoError(p.t, err)
	x, y := frameAt(p)
	return color.RGBAModel.Convert(picture.At(int(x+dx), int(y+dy))).(color.RGBA)
}

func TestAnEmailIsPreviewedInTheDark(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	message := "<style>body { background: #fff } @media (prefers-color-scheme: dark) { body { background: #102030 } }</style><p>Hi</p>"
	require.Equal(t, 200, b.send("POST", emailPath, email(t, "Dark", message)))
	p := openTab(t, b.ui+"/requests/1", 1280, "light")
	shows := func(want color.RGBA) func() bool {
		return func() bool {
			middle := eval[[]float64](p, `(({ width, height }) => [width / 2, height - 40])(
				document.querySelector(".mail iframe").getBoundingClientRect())`)
			return frameColor(p, middle[0], middle[1]) == want
		}
	}
	require.Eventually(t, shows(color.RGBA{0xff, 0xff, 0xff, 0xff}), patience, 10*time.Millisecond)
	p.click(".mail [name=dark]")
	require.Eventually(t, shows(color.RGBA{0x10, 0x20, 0x30, 0xff}), patience, 10*time.Millisecond)
}
