package redact

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRedactorRemovesTheKeyInEverySpelling(t *testing.T) {
	r := Keys{current: `sk/live+"0\1%2`}
	tests := []struct{ name, body, want string }{
		{"as it is", `<p>sk/live+"0\1%2</p>`, `<p>[API key]</p>`},
		{"in a JSON string", `{"key":"sk/live+\"0\\1%2"}`, `{"key":"[API key]"}`},
		{"with an escaped slash", `{"key":"sk\/live+\"0\\1%2"}`, `{"key":"[API key]"}`},
		{"with characters as numbers", `"\u0073k\u002Flive\u002b\u00220\\1%2"`, `"[API key]"`},
		{"in a URL", `/?key=sk%2Flive%2b%220%5C1%252&x=1`, `/?key=[API key]&x=1`},
		{"as a URL in a JSON string", `"https:\/\/x\/?k=sk\/live%2B%220\\1%252"`, `"https:\/\/x\/?k=[API key]"`},
		{"as JSON in a JSON string", `"{\"key\":\"sk\\/live+\\\"0\\\\1%2\"}"`, `"{\"key\":\"[API key]\"}"`},
		{"in a URL within a URL", `/?u=%2F%3Fk%3Dsk%252Flive%252B%25220%255C1%25252`, `/?u=%2F%3Fk%3D[API key]`},
		{"with percent signs as numbers", `"sk\u00252Flive\u00252b\u0025220\\1\u00252"`, `"[API key]"`},
		{"several times", `sk/live+"0\1%2 sk/live+"0\1%2`, `[API key] [API key]`},
		{"after a start that looks like it", `sk\/lsk\/live+\"0\\1%2`, `sk\/l[API key]`},
		{"not where a part is missing", `"sk\/live+\"0\\1%"`, `"sk\/live+\"0\\1%"`},
		{"not where a number breaks off", `"sk\u002`, `"sk\u002`},
		{"not where a number is none", `"sk\u00zz%zz%2`, `"sk\u00zz%zz%2`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, test.want, string(r.Body([]byte(test.body), len(test.body))))
		})
	}
}

func TestRedactorFindsAKeyAcrossTheLimit(t *testing.T) {
	r := Keys{current: "sk_live_0123456789"}
	for _, spelled := range []string{r.current, strings.ReplaceAll(r.current, "_", `\u005f`)} {
		body := strings.Repeat("x", 100) + spelled
		assert.Equal(t, strings.Repeat("x", 100)+"[API", string(r.Body([]byte(body[:min(len(body), r.Window(104))]), 104)))
	}
}

func TestRedactorKeepsNoPartOfAKeyAtTheLimit(t *testing.T) {
	r := Keys{current: "sk_live_0123456789ABCDEFGHIJ"}
	for _, limit := range []int{100, 1000, 1001, 1013} {
		for pad := range len(r.current) {
			body := strings.Repeat("x", pad) + strings.Repeat(r.current, 100)
			kept := string(r.Body([]byte(body[:min(len(body), r.Window(limit))]), limit))
			assert.LessOrEqual(t, len(kept), limit)
			assert.NotContains(t, strings.ReplaceAll(kept, redactedKey, ""), "sk_")
		}
	}
}

func TestRedactorRemovesTheKeysOfEarlierAttempts(t *testing.T) {
	var r Keys
	for _, key := range []string{"old_key_0123456789", "old_key_0123456789", "new_key_0123456789", "third_key_01234567"} {
		r.Use(key)
	}
	assert.Len(t, r.earlier, 2)
	const quoted = "old_key_0123456789 new_key_0123456789 third_key_01234567"
	assert.Equal(t, "[API key] [API key] [API key]", r.Text(quoted))
	assert.Equal(t, "[API key] [API key] [API key]", string(r.Body([]byte(quoted), 100)))
	assert.Equal(t, http.Header{"[API key]": {"[API key]"}}, r.Header(http.Header{"Old_key_0123456789": {"old%5Fkey%5F0123456789"}}))
}

func TestRedactorKeepsAShortKey(t *testing.T) {
	r := Keys{current: "key"}
	assert.Equal(t, "monkey", r.Text("monkey"))
	assert.Equal(t, "monkey", string(r.Body([]byte("monkey"), 10)))
	assert.Equal(t, http.Header{"Key": {"key"}}, r.Header(http.Header{"Key": {"key"}}))
}

func TestRedactorRemovesTheKeyFromAHeader(t *testing.T) {
	r := Keys{current: "sk_live_0123456789"}
	plain := http.Header{"Server": {"nginx"}}
	assert.Equal(t, plain, r.Header(plain))
	quoting := http.Header{"X-Echo": {"a", "b sk_live_0123456789"}, "Sk_live_0123456789": {"1"}, "Server": {"nginx"}}
	assert.Equal(t, http.Header{"X-Echo": {"a", "b [API key]"}, "[API key]": {"1"}, "Server": {"nginx"}}, r.Header(quoting))
	assert.Contains(t, quoting, "Sk_live_0123456789", "the original stays as it was")
}

func TestRedactorShowsTransportErrorsThatQuoteNothing(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	withheld := func(kind string) string {
		return "transport error of type " + kind + " (its text may quote the request or the response, and is withheld)"
	}
	const plain = "*errors.errorString"
	broken := &breakerError{"circuit open for ada@example.com"}
	tests := []struct {
		name string
		err  error
		want string
	}{
		{"a known error", refused, "dial tcp: connect: connection refused"},
		{"a known error within another", fmt.Errorf("POST /?email=ada@example.com: %w", refused), "dial tcp: connect: connection refused"},
		{"a known error among others", errors.Join(errors.New("ada@example.com"), refused), "dial tcp: connect: connection refused"},
		{"a known error around an unknown one", &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("ada@example.com")},
			withheld("*net.OpError")},
		{"an error of net/url", &url.Error{Op: "Get", URL: "https://example.com/?email=ada@example.com", Err: io.EOF}, "EOF"},
		{"a phrase of net/http", errors.New(`malformed HTTP response "ada@example.com"`), "malformed HTTP response"},
		{"the refusal of a proxy", errors.New("Proxy Authentication Required"), "proxy: Proxy Authentication Required"},
		{"a phrase of another transport", errors.New("ada@example.com: circuit open"), "circuit open"},
		{"a phrase of a transport with its own type of error", fmt.Errorf("ada@example.com: %w", broken), "circuit open (*redact.breakerError)"},
		{"a phrase that is part of another", errors.New("unexpected EOF"), "unexpected EOF"},
		{"letters of a longer word", errors.New("GEOFENCE"), withheld(plain)},
		{"letters of a longer word before a phrase", errors.New("GEOFENCE: EOF"), "EOF"},
		{"an error of the standard library by its text", fmt.Errorf("%s", refused), "connection refused"},
		{"any other text", errors.New("ada@example.com"), withheld(plain)},
		{"any other text within another", fmt.Errorf("1: %w", errors.New("ada@example.com")), withheld("*fmt.wrapError")},
		{"any other text of its own type", fmt.Errorf("1: %w", &breakerError{"ada@example.com"}), withheld("*redact.breakerError")},
		{"no text", errors.New(""), withheld(plain)},
		{"a nil pointer", (*breakerError)(nil), withheld("*redact.breakerError")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			shown := TransportError(test.err)
			assert.EqualError(t, shown, test.want)
			for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
				assert.Equal(t, test.want, fmt.Sprintf(verb, shown))
			}
			assert.NoError(t, errors.Unwrap(shown), "nothing that prints causes prints it")
		})
	}
}

// breakerError is an error of another transport.
type breakerError struct{ text string }

func (e *breakerError) Error() string { return e.text }

// quotingError is an error that is no pointer, so that fmt prints it within a struct.
type quotingError struct{ text string }

func (e quotingError) Error() string { return e.text }

func TestRedactorHidesAWithheldErrorInAFieldFromEveryVerb(t *testing.T) {
	type job struct{ cause error }
	withheld := TransportError(quotingError{"ada@example.com"})
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%t"} {
		assert.NotContains(t, fmt.Sprintf(verb, job{withheld}), "ada@", verb)
		assert.NotContains(t, fmt.Sprintf(verb, []job{{withheld}}), "ada@", verb)
		assert.NotContains(t, fmt.Sprintf(verb, &job{Sealed("sealed", quotingError{"ada@example.com"})}), "ada@", verb)
	}
}

func TestRedactorShowsEveryPhraseOfOtherTransports(t *testing.T) {
	for _, phrase := range []string{"no responder found", "connection refused", "connection reset by peer", "no such host", "i/o timeout",
		"TLS handshake timeout", "EOF", "unexpected EOF", "too many open files", "circuit open"} {
		assert.EqualError(t, TransportError(errors.New("POST https://ada@example.com: "+phrase)), phrase)
	}
}

func TestRedactorKeepsTheCausesOfAWithheldError(t *testing.T) {
	mine := &net.AddrError{Err: "mine"}
	other := errors.New("other")
	joined := errors.Join(&url.Error{Op: "Get", URL: "https://example.com", Err: mine}, other)
	for name, err := range map[string]error{"of a transport": TransportError(joined), "of a function": SourceError(joined)} {
		t.Run(name, func(t *testing.T) {
			assert.ErrorIs(t, err, mine)
			assert.ErrorIs(t, err, other, "both sides of a joined error are kept")
			var address *net.AddrError
			require.ErrorAs(t, err, &address)
			assert.Same(t, mine, address)
			var withURL *url.Error
			assert.False(t, errors.As(err, &withURL), "it prints the URL")
			assert.Nil(t, withURL)
			var network net.Error // which a *url.Error is as well
			require.False(t, errors.As(TransportError(fmt.Errorf("tracing: %w", &url.Error{Err: other})), &network))
			assert.Nil(t, network)
			refused := &net.OpError{Op: "dial", Err: other}
			require.ErrorAs(t, TransportError(fmt.Errorf("tracing: %w", &url.Error{Err: refused})), &network)
			assert.Same(t, refused, network)
		})
	}
	foreign := TransportError(fmt.Errorf("%w, %w", context.DeadlineExceeded, context.Canceled))
	assert.NotErrorIs(t, foreign, context.DeadlineExceeded, "that is the caller's deadline")
	assert.NotErrorIs(t, foreign, context.Canceled)
}

func TestRedactorShowsTheErrorsOfTheCallersFunctions(t *testing.T) {
	err := errors.New("the vault is sealed")
	for _, source := range []error{err, &url.Error{Op: "Get", URL: "https://vault.example/?token=1", Err: err}} {
		shown := SourceError(source)
		assert.EqualError(t, shown, "the vault is sealed")
		assert.ErrorIs(t, shown, err)
	}
	assert.NotErrorIs(t, SourceError(context.DeadlineExceeded), context.DeadlineExceeded, "that is the caller's deadline")
	assert.NotContains(t, SourceError(errors.Join(&url.Error{URL: "https://vault.example/?token=1", Err: err},
		io.EOF)).Error(), "token")
}

func TestRedactorFindsAnyKeyInEveryReadingOfTwoLevels(t *testing.T) {
	inJSON := func(text string) string {
		written, err := json.Marshal(text)
		require.NoError(t, err)
		return string(written[1 : len(written)-1])
	}
	asNumbers := func(text string) string {
		var numbers strings.Builder
		for _, c := range []byte(text) {
			fmt.Fprintf(&numbers, `\u%04x`, c)
		}
		return numbers.String()
	}
	asPercents := func(text string) string {
		var percents strings.Builder
		for _, c := range []byte(text) {
			fmt.Fprintf(&percents, "%%%02X", c)
		}
		return percents.String()
	}
	spellings := map[string]func(string) string{
		"in JSON": inJSON, "in a URL": url.QueryEscape, "as numbers": asNumbers, "as percents": asPercents,
		"as it is": func(text string) string { return text }}
	for _, key := range []string{`sk\\live\\0`, `sk%25live%2525`, `"quoted\"key"`, `sk/live+"0\1%2`, `\u0041\u0042`, `%41%42%43`,
		"sk_live_0123456789"} {
		for outer, again := range spellings {
			for inner, spell := range spellings {
				k := Keys{current: key}
				text := "before " + again(spell(key)) + " after"
				assert.Equal(t, "before [API key] after", k.Text(text), "%s, %s and then %s", key, inner, outer)
			}
		}
	}
}

func TestRedactorTakesLinearTime(t *testing.T) {
	r := Keys{current: "sk_live_0123456789"}
	for _, filler := range []string{`\`, `%`, `%25`, `\u0025`, `s\`, "s"} {
		duration := func(length int) time.Duration {
			text := strings.Repeat(filler, length/len(filler))
			start := time.Now()
			assert.False(t, r.AreIn(text))
			assert.Len(t, r.Body([]byte(text+`\`), len(text)), len(text))
			return time.Since(start)
		}
		// Quadratic time would be 1024 times as long, each time. A machine that is busy with
		// something else makes it longer now and then.
		linear := func() bool { return duration(64<<10) < 500*duration(2<<10) }
		tries := 0
		for tries < 100 && !linear() {
			tries++
		}
		assert.Less(t, tries, 100, filler)
	}
}

// BenchmarkHostileBody is the largest body that is kept, of escape sequences alone.
func BenchmarkHostileBody(b *testing.B) {
	k := Keys{current: "sk_live_0123456789"}
	for _, filler := range []string{`\\`, `%25`, `\u0025`, `s\`} {
		b.Run(filler, func(b *testing.B) {
			body := []byte(strings.Repeat(filler, k.Window(64<<10)/len(filler)))
			for b.Loop() {
				k.Body(body, 64<<10)
			}
		})
	}
}
