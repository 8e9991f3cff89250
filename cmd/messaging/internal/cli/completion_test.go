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
		"sandbox --identifier ":           "email customer_id",
		"sandbox fault ":                  "list remove answer_lost status rate_limited slow malformed outage",
		"sandbox env --shell p":           "posix powershell",
		"export events --columns id,na":   "id,name",
		"export customers --to ":          "csv jsonl",
		"completion ":                     "bash zsh fish powershell",
		"outbox list --operation trigger": "trigger event",
		"sandbox reset ":                  "all history faults",
		"help s":                          "safety repeats sandbox",
		"help outbox ":                    "import resend",
	} {
		stdout, _, _ := invoke(t, append([]string{"__completeNoDesc"}, strings.Split(line, " ")...)...)
		for name := range strings.FieldsSeq(want) {
			assert.Contains(t, stdout, name, line)
		}
	}
}

func TestCompletionOffersFilesOnlyWhereAFileIsMeant(t *testing.T) {
	const files, noFiles = "\n:0\n", "\n:4\n"
	for line, want := range map[string]string{
		"event trigger ":                  noFiles,
		"event get ":                      noFiles,
		"outbox show ":                    noFiles,
		"broadcast email --message-type ": noFiles,
		"outbox run --rate ":              noFiles,
		"customer get --id ":              noFiles,
		"sandbox fault --status ":         noFiles,
		"event apply ":                    files,
		"outbox run --ledger ":            files,
		"broadcast push --to-customers ":  files,
		"sandbox --seed ":                 files,
		"gen --out ":                      files,
	} {
		stdout, _, _ := invoke(t, append([]string{"__completeNoDesc"}, strings.Split(line, " ")...)...)
		assert.Equal(t, want, "\n"+stdout, line)
	}
}

func TestCompletionOfBashNeedsItsPackage(t *testing.T) {
	o := newOperator(t)
	const load = `. <(messaging completion bash); complete -p messaging`
	for line, want := range map[string]string{
		load: "messaging: completion needs the package bash-completion: install it, and load it before this script\n" +
			"bash: line 1: complete: messaging: no completion specification\n",
		"_get_comp_words_by_ref() { :; }; " + load: "complete -o default -F __start_messaging messaging\n",
	} {
		cmd := o.command()
		cmd.Path, cmd.Args = "/bin/bash", []string{"bash", "--norc", "-c", line}
		text, _ := cmd.CombinedOutput() // the text has the error
		assert.Equal(t, want, string(text))
	}
}
