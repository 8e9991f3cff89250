package redact

import (
	"context"
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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRedactorRemovesTheKeyInEverySpelling(t *testing.T) {
	r := Keys{keys: []string{`sk/live+"0\1%2`}}
	tests := []struct{ name, body, want string }{
		{"as it is", `<p>sk/live+"0\1%2</p>`, `<p>[API key]</p>`},
		{"in a JSON string", `{"key":"sk/live+\"0\\1%2"}`, `{"key":"[API key]"}`},
		{"with an escaped slash", `{"key":"sk\/live+\"0\\1%2"}`, `{"key":"[API key]"}`},
		{"with characters as numbers", `"\u0073k\u002Flive\u002b\u00220\\1%2"`, `"[API key]"`},
		{"in a URL", `/?key=sk%2Flive%2b%220%5C1%252&x=1`, `/?key=[API key]&x=1`},
		{"as a URL in a JSON string", `"https:\/\/x\/?k=sk\/live%2B%220%5C1%252"`, `"https:\/\/x\/?k=[API key]"`},
		{"with named characters", `&lt;sk/live+&quot;0\1%2&gt;&amp;`, `&lt;[API key]&gt;&amp;`},
		{"in HTML", `<p>sk&#x2F;live&#43;&quot;0\1%2</p>`, `<p>[API key]</p>`},
		{"in HTML with other numbers", `&#115;k/live&#X2b;&#34;0\1%2`, `[API key]`},
		{"in upper case", `SK/LIVE+"0\1%2`, `[API key]`},
		{"in other case, with characters as numbers", `"\u0053K\u002FLIVE\u002B\u00220\\1%2"`, `"[API key]"`},
		{"in other case, in a URL", `/?key=%53K%2fLive%2B%220%5c1%252`, `/?key=[API key]`},
		{"in other case, in HTML", `&#83;k/lIVE+&QUOT;0\1%2 &#x53;k/lIVE+&quot;0\1%2`, `&#83;k/lIVE+&QUOT;0\1%2 [API key]`},
		{"not behind two levels", `"{\"key\":\"sk\\/live+\\\"0\\\\1%2\"}"`, `"{\"key\":\"sk\\/live+\\\"0\\\\1%2\"}"`},
		{"several times", `sk/live+"0\1%2 sk/live+"0\1%2`, `[API key] [API key]`},
		{"after a start that looks like it", `sk\/lsk\/live+\"0\\1%2`, `sk\/l[API key]`},
		{"not where a part is missing", `"sk\/live+\"0\\1%"`, `"sk\/live+\"0\\1%"`},
		{"not where a number breaks off", `"sk\u002`, `"sk\u002`},
		{"not where a number is none", `"sk\u00zz%zz%2&#zz;&#x;&#;&none;&`, `"sk\u00zz%zz%2&#zz;&#x;&#;&none;&`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, test.want, string(r.Body([]byte(test.body), len(test.body))))
		})
	}
}

func TestRedactorFindsAKeyAcrossTheLimit(t *testing.T) {
	r := Keys{keys: []string{"sk_live_0123456789"}}
	for _, spelled := range []string{r.keys[0], strings.ReplaceAll(r.keys[0], "_", `\u005f`)} {
		body := strings.Repeat("x", 100) + spelled
		assert.Equal(t, strings.Repeat("x", 100)+"[API", string(r.Body([]byte(body[:min(len(body), r.Window(104))]), 104)))
	}
}

func TestRedactorKeepsNoPartOfAKeyAtTheLimit(t *testing.T) {
	r := Keys{keys: []string{"sk_live_0123456789ABCDEFGHIJ"}}
	for _, limit := range []int{100, 1000, 1001, 1013} {
		for pad := range len(r.keys[0]) {
			body := strings.Repeat("x", pad) + strings.Repeat(r.keys[0], 100)
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
	assert.Len(t, r.keys, 3)
	const quoted = "old_key_0123456789 new_key_0123456789 third_key_01234567"
	assert.Equal(t, "[API key] [API key] [API key]", r.Text(quoted))
	assert.Equal(t, "[API key] [API key] [API key]", string(r.Body([]byte(quoted), 100)))
	assert.Equal(t, http.Header{"[API key]": {"[API key]"}}, r.Header(http.Header{"Old_key_0123456789": {"old%5Fkey%5F0123456789"}}))
}

func TestRedactorRemovesTheKeyFromAHeader(t *testing.T) {
	r := Keys{keys: []string{"sk_live_0123456789"}}
	plain := http.Header{"Server": {"nginx"}}
	assert.Equal(t, plain, r.Header(plain))
	quoting := http.Header{"X-Echo": {"a", "b sk_live_0123456789"}, "Sk_live_0123456789": {"1"}, "Server": {"nginx"}}
	assert.Equal(t, http.Header{"X-Echo": {"a", "b [API key]"}, "[API key]": {"1"}, "Server": {"nginx"}}, r.Header(quoting))
	assert.Contains(t, quoting, "Sk_live_0123456789", "the original stays as it was")
	assert.Equal(t, http.Header{"X-Echo": {"[API key]"}, "[API key]": {"2"}},
		r.Header(http.Header{"X-Echo": {"SK_LIVE_0123456789"}, "X-Sk%5flive_0123456789": {"2"}}))
}

// quoting is an error of other code with a type of its own.
type quotingError struct{ text string }

func (e *quotingError) Error() string { return e.text }

func TestForeignErrorsShowTheirTextUpToAQuotationMark(t *testing.T) {
	keys := Keys{keys: []string{"sk_live_0123456789"}, query: "emails=ada%40example.com"}
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	tests := []struct {
		name string
		err  error
		want string
	}{
		{"a known error", refused, "dial tcp: connect: connection refused"},
		{"an error of a token source", errors.New("oauth2: cannot fetch token: 401 Unauthorized"),
			"oauth2: cannot fetch token: 401 Unauthorized"},
		{"an error of net/url", &url.Error{Op: "Get", URL: "https://example.com/?email=ada@example.com", Err: io.EOF}, "EOF"},
		{"an error of net/url within another", fmt.Errorf("token: %w", &url.Error{Op: "Get", URL: "https://x/?email=a@b.c", Err: io.EOF}),
			"token: Get …"},
		{"a URL with a query", errors.New("fetching https://x.test/token?email=ada@example.com failed"),
			"fetching https://x.test/token?… failed"},
		{"the query of the request after a path", errors.New("GET /v1/customers?emails=ada%40example.com HTTP/1.1: refused"),
			"GET /v1/customers?… HTTP/1.1: refused"},
		{"the query of the request alone", errors.New("bad query emails=ada%40example.com"), "bad query …"},
		{"what was read", errors.New(`malformed HTTP response "ada@example.com"`), "malformed HTTP response …"},
		{"the key", errors.New("bad header sk_live_0123456789"), "bad header [API key]"},
		{"the key escaped", errors.New("bad header sk&#95;live%5F0123456789"), "bad header [API key]"},
		{"no text", errors.New(""), ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			shown := keys.Foreign(test.err)
			for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
				assert.Equal(t, test.want, fmt.Sprintf(verb, shown))
			}
			for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d"} {
				held := fmt.Sprintf(verb, struct{ err error }{shown})
				for _, secret := range []string{"sk_live", "ada@", "ada%40", "email="} {
					assert.NotContains(t, held, secret)
				}
			}
		})
	}
}

func TestForeignErrorsAreFound(t *testing.T) {
	mine := &quotingError{`"ada@example.com"`}
	shown := new(Keys).Foreign(fmt.Errorf("%w, %w, %w", io.EOF, mine, context.DeadlineExceeded))
	require.ErrorIs(t, shown, io.EOF)
	var found *quotingError
	require.ErrorAs(t, shown, &found)
	assert.Same(t, mine, found)
	assert.NotErrorIs(t, shown, context.DeadlineExceeded, "which means that the caller's own context ended")
	assert.NotErrorIs(t, new(Keys).Foreign(context.Canceled), context.Canceled)
}
