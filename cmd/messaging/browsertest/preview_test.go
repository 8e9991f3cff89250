package browsertest

import (
	"bytes"
	"context"
	"fmt"
	"image/color"
	"image/png"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
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

func startOutside(t *testing.T) (o *outside, port string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	o = &outside{Listener: listener}
	server := &http.Server{Handler: http.NotFoundHandler()}
	go func() { _ = server.Serve(o) }()
	t.Cleanup(func() { _ = server.Close() })
	_, port, err = net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	return o, port
}

// watchedBrowser starts a browser whose name lookups all lead to this machine,
// and returns a function that ends it and returns the names that it looked up.
func watchedBrowser(t *testing.T) (browser context.Context, lookedUp func() []string) {
	t.Helper()
	path, err := findBrowser()
	require.NoError(t, err)
	log := filepath.Join(t.TempDir(), "net.json")
	browser, stop, err := startBrowser(path, chromedp.Flag("log-net-log", log), chromedp.Flag("net-log-capture-mode", "Everything"),
		chromedp.Flag("host-resolver-rules", "MAP *.outside.test 127.0.0.1, MAP outside.test 127.0.0.1"))
	require.NoError(t, err)
	t.Cleanup(stop)
	return browser, func() []string {
		require.NoError(t, chromedp.Cancel(browser))
		stop()
		content, err := os.ReadFile(log)
		require.NoError(t, err)
		require.Contains(t, string(content), "127.0.0.1", "the log has what the browser did")
		_, events, ok := strings.Cut(string(content), `"events":`) // before are the flags of the browser
		require.True(t, ok)
		return names.FindAllString(events, -1)
	}
}

var names = regexp.MustCompile(`[a-z.]*outside\.test[^"]*`)

func hostileMessage(t *testing.T, port string) string {
	t.Helper()
	content, err := os.ReadFile("testdata/hostile.html")
	require.NoError(t, err)
	return strings.ReplaceAll(string(content), "PORT", port)
}

func TestPreviewOfAHostileEmailReachesNobody(t *testing.T) {
	far, port := startOutside(t)
	b := startBox(t)
	require.Equal(t, 200, b.send("POST", emailPath, email(t, "Hostile", hostileMessage(t, port))))
	watched, lookedUp := watchedBrowser(t)
	p := openTabIn(t, watched, b.ui+"/requests/1", 1280, "dark")
	p.until(`document.querySelector("#live").dataset.state === "on"`)

	paper := color.RGBA{243, 239, 230, 255}
	require.Eventually(t, func() bool { return frameColor(p, 5, 5) == paper }, patience, 10*time.Millisecond, "the email keeps its styles")
	assert.Equal(t, color.RGBA{20, 83, 45, 255}, frameColor(p, 40, 30), "the email keeps its styles")
	x, y := frameAt(p)
	// a link, a button, a link in a picture, and links whose address an animation sets
	for _, dy := range []float64{160, 210, 260, 310, 360, 410} {
		require.Equal(t, color.RGBA{255, 220, 0, 255}, frameColor(p, 300, dy))
		p.do(chromedp.MouseClickXY(x+300, y+dy))
		p.do(chromedp.MouseClickXY(x+300, y+dy, chromedp.ButtonMiddle))
		p.do(chromedp.MouseClickXY(x+300, y+dy, chromedp.ButtonModifiers(chromedp.ModifierCtrl)))
		p.do(chromedp.MouseClickXY(x+300, y+dy, chromedp.ButtonModifiers(chromedp.ModifierShift)))
	}
	require.Equal(t, color.RGBA{255, 220, 0, 255}, frameColor(p, 300, 160), "the email is still there")
	for _, tab := range []string{"source", "text", "links", "exchange"} {
		p.open(b.ui + "/requests/1?tab=" + tab)
	}
	p.open(b.ui + "/requests/1")
	p.until(`document.querySelector("#live").dataset.state === "on"`)
	assert.Equal(t, b.ui+"/requests/1", eval[string](p, `location.href`), "nothing navigated away")

	assert.Empty(t, lookedUp())
	assert.Zero(t, far.accepted.Load())
}

// TestPreviewWouldReachTheSenderWithoutItsPolicy proves that the test above can
// fail: the same e-mail in a page without a policy calls home.
func TestPreviewWouldReachTheSenderWithoutItsPolicy(t *testing.T) {
	far, port := startOutside(t)
	message := hostileMessage(t, port)
	naive := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/" {
			_, _ = fmt.Fprint(w, `<!doctype html><iframe sandbox="" src="/mail" width=800 height=600></iframe>`)
			return
		}
		_, _ = fmt.Fprint(w, message)
	}))
	t.Cleanup(naive.Close)
	watched, lookedUp := watchedBrowser(t)
	p := openTabIn(t, watched, naive.URL, 1280, "light")
	require.Eventually(t, func() bool { return far.accepted.Load() > 2 }, patience, 10*time.Millisecond)
	p.close()
	assert.NotEmpty(t, lookedUp())
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
	picture, err := png.Decode(bytes.NewReader(p.png()))
	require.NoError(p.t, err)
	x, y := frameAt(p)
	return color.RGBAModel.Convert(picture.At(int(x+dx), int(y+dy))).(color.RGBA)
}

func TestAnEmailIsPreviewedInTheDark(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	message := "<style>body { background: #fff } @media (prefers-color-scheme: dark) { body { background: #102030 } }</style><p>Hi</p>"
	require.Equal(t, 200, b.send("POST", emailPath, email(t, "Dark", message)))
	p := openTab(t, b.ui+"/requests/1", 1280, "light")
	p.until(isLive)
	background := func() color.Color {
		shot, err := png.Decode(bytes.NewReader(p.png()))
		require.NoError(t, err)
		middle := eval[[]int](p, `(({ left, right, bottom }) => [(left + right) / 2 | 0, bottom - 40 | 0])(
			document.querySelector(".mail iframe").getBoundingClientRect())`)
		return shot.At(middle[0], middle[1])
	}
	shows := func(want color.RGBA) func() bool {
		return func() bool { return color.RGBAModel.Convert(background()) == want }
	}
	require.Eventually(t, shows(color.RGBA{0xff, 0xff, 0xff, 0xff}), 5*time.Minute, 50*time.Millisecond)
	p.click(".mail [name=dark]")
	require.Eventually(t, shows(color.RGBA{0x10, 0x20, 0x30, 0xff}), 5*time.Minute, 50*time.Millisecond)
}
