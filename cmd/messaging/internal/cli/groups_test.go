package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
)

// invoke runs the program in the process of the test.
func invoke(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, err bytes.Buffer
	code = run(t.Context(), append([]string{}, args...), &out, &err) // for nil, cobra reads the arguments of the test
	return out.String(), err.String(), code
}

func TestGroupsRefuseWhatTheyDoNotHave(t *testing.T) {
	walk(newRoot(&settings{}), func(cmd *cobra.Command) {
		if !cmd.HasSubCommands() {
			return
		}
		path := strings.Fields(cmd.CommandPath())[1:]
		stdout, stderr, code := invoke(t, append(path, "no-such-command")...)
		assert.Equal(t, 2, code, path)
		assert.Empty(t, stdout, path)
		if cmd.Name() != "fault" { // its argument is a kind of fault
			assert.Contains(t, stderr, `messaging: unknown command "no-such-command" for "`+cmd.CommandPath()+`"; see: `, path)
		}
		if cmd.Annotations[isGroup] == "" || !cmd.HasParent() {
			return
		}
		stdout, stderr, code = invoke(t, path...)
		assert.Equal(t, 2, code, path)
		assert.Empty(t, stdout, path)
		assert.Contains(t, stderr, "Usage:\n  "+cmd.CommandPath()+" [command]", path)
		_, stderr, _ = invoke(t, append(path, "--json")...)
		assert.Regexp(t, `\A\{"error":.*\}\n\z`, stderr, path)
	})
}

func TestCommandsSuggestWhatWasMeant(t *testing.T) {
	for line, want := range map[string]string{
		"outbox pasue":                   `unknown command "pasue" for "messaging outbox"; did you mean pause?`,
		"broadcast emial":                `unknown command "emial" for "messaging broadcast"; did you mean email?`,
		"event aply x":                   `unknown command "aply" for "messaging event"; did you mean apply?`,
		"profile lst":                    `unknown command "lst" for "messaging profile"; did you mean list?`,
		"export customer --to y.csv":     `unknown command "customer" for "messaging export"; did you mean customers?`,
		"outbox imprt --from o.csv":      `unknown command "imprt" for "messaging outbox"; did you mean import?`,
		"event list --timeout 5":         `invalid argument "5" for "--timeout" flag: it needs a unit, such as 5s`,
		"broadcast push --yes":           `unknown flag: --yes; in a script, pass --confirm with the digest that --dry-run prints`,
		"export custmers":                `unknown command "custmers" for "messaging export"; did you mean customers?`,
		"brodcast":                       `unknown command "brodcast" for "messaging"; did you mean broadcast?`,
		"sandbox wiat":                   `unknown command "wiat" for "messaging sandbox"; did you mean wait?`,
		"sandbox fault lsit":             `unknown KIND "lsit"; did you mean list?`,
		"help nosuch":                    `unknown command "nosuch" for "messaging"; see: messaging --help`,
		"help saftey":                    `unknown command "saftey" for "messaging"; did you mean safety?`,
		"help outbox pasue":              `unknown command "pasue" for "messaging outbox"; did you mean pause?`,
		"customer get a b":               `unexpected argument "b"; see: messaging customer get --help`,
		"broadcast push --to-customer x": `unknown flag: --to-customer; did you mean --to-customers?`,
		"broadcast push --nonsense":      `unknown flag: --nonsense`,
		"event get":                      `NAME|ID is missing; see: messaging event get --help`,
		"event get a b":                  `unexpected argument "b"; put a name with spaces in quotes; see: messaging event get --help`,
		"event trigger order shipped": `unexpected argument "shipped"; put a name with spaces in quotes; ` +
			"see: messaging event trigger --help",
		"event trigger x --email -f a=b": "--email has the flag -f as its value; is a variable before it not set, " +
			"or not quoted? Nothing was sent",
		"event trigger x --customer-id c":        `unknown flag: --customer-id; --customer takes a JSON file, such as {"customer_id": "c-1001"}`,
		"event trigger x --email a@b.test -F n=": `-F: the value of "n" is empty; is a variable not set?`,
		"event trigger x --customer c-1": `--customer takes a JSON file, such as {"customer_id": "c-1001"}: ` +
			"open c-1: no such file or directory",
		"sandbox wait -op:list":  "unknown shorthand flag: 'o' in -op:list; put a ! before a term that must not match",
		"event create x":         `unexpected argument "x"; see: messaging event create --help`,
		"customer list --json a": `unexpected argument "a"; if it names fields, write --json=a`,
		"completion tcsh":        `invalid argument "tcsh"; it must be bash|zsh|fish|powershell`,
	} {
		stdout, stderr, code := invoke(t, strings.Fields(line)...)
		assert.Equal(t, 2, code, line)
		assert.Empty(t, stdout, line)
		message := strings.NewReplacer(`{"error":{"message":"`, "messaging: ", `\"`, `"`, `","kind":"usage","exit":2}}`, "").Replace(stderr)
		assert.Equal(t, "messaging: "+want+"\n", message, line)
	}
}

func TestHelpIsReadable(t *testing.T) {
	stdout, _, code := invoke(t)
	assert.Equal(t, 0, code)
	assert.True(t, strings.HasPrefix(stdout, "Examples:\n  messaging sandbox --seed demo"), stdout)
	assert.Contains(t, stdout, "--json[=f,g]   ")
	assert.NotContains(t, stdout, `[="all"]`)
	assert.Regexp(t, `\n  messaging help exit-codes +What the exit codes mean\n`, stdout)
	assert.NotContains(t, stdout, "messaging [flags]")
	assert.NotContains(t, stdout, "Global flags")
	below, _, _ := invoke(t, "outbox", "run", "--help")
	assert.Regexp(t, `\n +--ledger file +.*\n`, below, "a flag of its group")
	assert.NotContains(t, below, "--no-color", "a flag of the program")
	assert.True(t, strings.HasSuffix(below, "\n\nGlobal flags: messaging --help\n"), below)
	again, _, code := invoke(t, "help")
	assert.Equal(t, 0, code)
	assert.Equal(t, stdout, again)
	version, _, _ := invoke(t, "version")
	flag, _, _ := invoke(t, "--version")
	assert.Equal(t, flag, version)
}
