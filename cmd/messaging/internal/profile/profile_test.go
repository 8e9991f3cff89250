package profile_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/profile"
)

// resolveSandbox resolves the built-in profile with an inspector that responds with body.
func resolveSandbox(t *testing.T, status int, body string) (*profile.Service, error) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return resolveSandboxAt(t, listener, status, body)
}

func resolveSandboxAt(t *testing.T, listener net.Listener, status int, body string) (*profile.Service, error) {
	t.Helper()
	inspector := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "GET /api/access", r.Method+" "+r.URL.String())
		w.Header().Set("Location", "http://127.0.0.1:1/")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	require.NoError(t, inspector.Listener.Close())
	inspector.Listener = listener
	inspector.Start()
	t.Cleanup(inspector.Close)
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("MESSAGING_SANDBOX_URL", inspector.URL)
	return profile.Resolve(t.Context(), profile.SandboxName)
}

func TestSandboxProfileNamesThisMachineAlone(t *testing.T) {
	s, err := resolveSandbox(t, http.StatusOK, `{"api_key":"k-of-the-sandbox","port":"8077","start_id":"s1","host":"evil.example"}`)
	require.NoError(t, err)
	assert.Equal(t, "http://127.0.0.1:8077", s.BaseURL)
	assert.Equal(t, "127.0.0.1:8077#s1", s.Identity())
	listener, err := net.Listen("tcp", "127.0.0.2:0")
	if err == nil { // not every system has more than one loopback address
		s, err = resolveSandboxAt(t, listener, http.StatusOK, `{"api_key":"k-of-the-sandbox","port":"8077","start_id":"s1"}`)
		require.NoError(t, err)
		assert.Equal(t, "http://127.0.0.2:8077", s.BaseURL)
	}
	assert.Equal(t, profile.Sandbox, s.Kind)
	for _, port := range []string{"", "0", "65536", "-1", "80@evil.example", "80/x", "evil.example:80"} {
		_, err := resolveSandbox(t, http.StatusOK, `{"api_key":"k-of-the-sandbox","port":"`+port+`","start_id":"s1"}`)
		assert.Equal(t, exit.NotDone, exit.CodeOf(err), "port %q: %v", port, err)
	}
	for _, status := range []int{http.StatusFound, http.StatusTemporaryRedirect, http.StatusNotFound} {
		_, err := resolveSandbox(t, status, "{}")
		assert.Equal(t, exit.NotDone, exit.CodeOf(err), "status %d: %v", status, err)
	}
}

func TestServiceOfTheEnvironmentHasOneFormOfItsHostAndIsProductionUnlessItIsASandboxOnThisMachine(t *testing.T) {
	resolve := func(url, key string) (*profile.Service, error) {
		t.Setenv("MESSAGING_BASE_URL", url)
		t.Setenv("MESSAGING_API_KEY", key)
		return profile.Resolve(t.Context(), "")
	}
	for want, urls := range map[string][]string{
		"127.0.0.1:8077": {"http://localhost:8077", "http://LOCALHOST:8077/", "http://[::1]:8077", "http://127.0.0.1:8077",
			"http://[0:0:0:0:0:0:0:1]:8077", "http://[::ffff:127.0.0.1]:8077", "http://127.0.0.2:8077"},
		"127.0.0.1":             {"http://localhost:80", "http://localhost"},
		"api.example.com":       {"https://api.example.com", "https://API.example.com/", "https://api.example.com:443"},
		"api.example.com:8443":  {"https://api.example.com:8443"},
		"localhost.example.com": {"https://localhost.example.com"},
	} {
		for _, url := range urls {
			s, err := resolve(url, "a-key-of-the-tests")
			require.NoError(t, err, url)
			assert.Equal(t, want, s.Identity(), url)
			assert.Equal(t, profile.Production, s.Kind, "%s may be a tunnel", url)
			s, err = resolve(url, "sandbox-key")
			require.NoError(t, err, url)
			assert.Equal(t, strings.HasPrefix(want, "127."), s.Kind == profile.Sandbox, url)
		}
	}
	s, err := resolve("https://API.example.com:8443/eu/b", "a-key-of-the-tests")
	require.NoError(t, err)
	assert.Equal(t, "api.example.com:8443/eu/b", s.Host, "for people, with its path")
	for _, url := range []string{"http://api.example.com", "api.example.com", "ftp://127.0.0.1", "https://api.example.com?x=y"} {
		_, err := resolve(url, "a-key-of-the-tests")
		assert.Equal(t, exit.Usage, exit.CodeOf(err), "%s: %v", url, err)
		assert.NotContains(t, err.Error(), "a-key-of-the-tests")
	}
}

func TestAConfigurationIsReadAndNamesItselfIfItIsBroken(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	config, err := profile.Read()
	require.NoError(t, err, "it need not exist")
	assert.Empty(t, config.Names())
	require.NoError(t, os.Mkdir(filepath.Dir(config.Path), 0o700))
	resolve := func(content string) (*profile.Service, error) {
		require.NoError(t, os.WriteFile(config.Path, []byte(content), 0o600))
		return profile.Resolve(t.Context(), "shop")
	}
	const shop = "[profiles.shop]\nbase_url = 'https://a.test'\nkey_file = 'k'\n"
	for rate, want := range map[string]float64{"50/s": 50, "600/m": 10, "3600/h": 1, "0.5/s": 0.5, "": 0} {
		s, err := resolve(shop + "rate = '" + rate + "'")
		require.NoError(t, err, rate)
		assert.InDelta(t, want, float64(s.Rate), 1e-9, rate)
	}
	for _, rate := range []string{"50", "0/s", "-1/s", "NaN/s", "Inf/s", "x/s", "5/d"} {
		_, err := resolve(shop + "rate = '" + rate + "'")
		assert.ErrorContains(t, err, "rate: ", rate)
	}
	for content, want := range map[string]string{
		"[profiles.shop]\nbase_url = \n":                    ": line 2",
		"[profiles.shop]\nkey_command = 'cat k'":            `TOML value has type string; it must be a list, such as key_command = [`,
		"[profiles.shop]\nbase-url = 'http://127.0.0.1'":    ": unknown key profiles.shop.base-url",
		"[profiles.sandbox]\nbase_url = 'http://127.0.0.1'": ": [profiles.sandbox]: the name is that of the built-in profile",
		"[profiles.other]\nbase_url = 'http://127.0.0.1'":   `there is no profile "shop" in `,
		shop + "kind = 'test'":                              `kind "test" must be production, staging or sandbox`,
		shop + "kind = 'sandbox'":                           "kind is sandbox, but base_url is not a loopback address",
		shop + "key_command = ['k']":                        "set exactly one of key_command and key_file",
		shop + "allow = ['a.test']": "allow: each entry must be an email address, @domain, id:customer, phone:+number or device:token, " +
			`not "a.test"`,
	} {
		_, err := resolve(content)
		assert.ErrorContains(t, err, want)
		assert.ErrorContains(t, err, config.Path)
		assert.Equal(t, exit.Usage, exit.CodeOf(err))
	}
	if runtime.GOOS != "windows" { // which has no modes
		require.NoError(t, os.Chmod(config.Path, 0o622))
		_, err := profile.Read()
		assert.ErrorContains(t, err, "other users can write to it; run: chmod 600 "+config.Path)
	}
}
