package browsertest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// axeVersion is the version of axe-core, the engine that finds what is not accessible.
const axeVersion = "4.10.3"

// axe returns the script of axe-core. It is fetched with npm once, and kept in the cache of
// the user.
func axe(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	folder := filepath.Join(cache, "messaging-browsertest", "axe-core-"+axeVersion)
	file := filepath.Join(folder, "node_modules", "axe-core", "axe.min.js")
	if script, err := os.ReadFile(file); err == nil {
		return string(script)
	}
	require.NoError(t, os.MkdirAll(folder, 0o755))
	out, err := exec.Command("npm", "install", "--silent", "--no-save", "--prefix", folder, "axe-core@"+axeVersion).CombinedOutput()
	if err != nil && os.Getenv("CI") != "true" {
		t.Skipf("cannot fetch axe-core: %v\n%s", err, out)
	}
	require.NoError(t, err, "cannot fetch axe-core: %s", out)
	script, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(script)
}

// finding is something that axe-core found.
type finding struct {
	ID, Impact, Help string
	Nodes            []string
}

const runAxe = `(window.findings = null, axe.run(document, { resultTypes: ["violations"], iframes: false }).then((r) => {
	window.findings = JSON.stringify(r.violations.map((v) => ({ id: v.id, impact: v.impact, help: v.help,
		nodes: v.nodes.map((n) => n.html.slice(0, 160)) })));
}), true)`

// requireNoFindings requires that axe-core finds nothing on the page.
func (p *tab) requireNoFindings(script, name string) {
	p.t.Helper()
	eval[bool](p, script+";true")
	eval[bool](p, runAxe)
	p.until(`window.findings`)
	var found []finding
	require.NoError(p.t, json.Unmarshal([]byte(eval[string](p, `window.findings`)), &found))
	for _, f := range found {
		assert.Fail(p.t, fmt.Sprintf("%s: %s (%s): %s", name, f.ID, f.Impact, f.Help), strings.Join(f.Nodes, "\n"))
	}
}
