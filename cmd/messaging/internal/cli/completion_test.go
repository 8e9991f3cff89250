package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCompletionKnowsValues(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", folder)
	require.NoError(t, os.Mkdir(filepath.Join(folder, "messaging"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "messaging", "config.toml"),
		[]byte("[profiles.live]\nbase_url = \"https://api.example.com\"\nkey_file = \"k\"\n"), 0o600))
	for line, want := range map[string]string{
		"-p ":                             "live sandbox",
		"-p sandbox outbox list --state ": "pending sending accepted rejected unclear dismissed",
		"--profile=sandbox event ":        "list get create trigger plan apply",
		"profile show l":                  "live sandbox",
		"outbox list --state ":            "pending sending accepted rejected unclear dismissed",
		"outbox import --format ":         "csv jsonl",
		"sandbox --identifier ":           "email customer_id",
		"sandbox fault ":                  "list remove answer_lost status rate_limited slow malformed outage",
		"sandbox env --shell p":           "posix powershell",
		"export events --columns id,na":   "id,name",
		"export customers --to ":          "csv jsonl parquet",
		"completion ":                     "bash zsh fish powershell",
		"outbox list --operation trigger": "trigger event",
	} {
		stdout, _, _ := invoke(t, append([]string{"__completeNoDesc"}, strings.Split(line, " ")...)...)
		for name := range strings.FieldsSeq(want) {
			assert.Contains(t, stdout, name, line)
		}
	}
}
