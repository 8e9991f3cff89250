package cli

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/output"
	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
)

// invoke runs the program in the process of the test.
func invoke(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, err bytes.Buffer
	code = run(t.Context(), append([]string{}, args...), &out, &err) // for nil, cobra reads the arguments of the test
	return out.String(), err.String(), code
}

// walk visits every command that can run.
func walk(cmd *cobra.Command, visit func(*cobra.Command)) {
	if cmd.HasSubCommands() || cmd.Runnable() {
		visit(cmd)
	}
	for _, each := range cmd.Commands() {
		walk(each, visit)
	}
}

// TestExamplesRun runs the examples that need a sandbox as they stand, with --dry-run where
// they would ask.
func TestExamplesRun(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.write("orders.csv", "email,order,shipped_at\nada@example.com,A-1001,2026-11-20T10:00:00Z\n")
	_, code := o.shell(`orders="-p sandbox outbox import -q --ledger orders.db --from orders.csv --key-column order"
		messaging $orders --event "order shipped" --confirm "$(messaging $orders --event "order shipped" --dry-run)"`)
	require.Equal(t, 0, code)
	walk(newRoot(&settings{}), func(cmd *cobra.Command) {
		for line := range strings.SplitSeq(strings.ReplaceAll(cmd.Example, "\\\n", ""), "\n") {
			if !strings.Contains(line, "-p sandbox") {
				continue
			}
			if cmd.Flags().Lookup("dry-run") != nil && !strings.Contains(line, "--dry-run") && !strings.Contains(line, "--check") {
				line += " --dry-run"
			}
			text, code := o.shell(line)
			assert.Contains(t, []int{int(exit.Done), int(exit.Drift)}, code, "%s\n%s", line, text)
		}
	})
}

func TestEveryKindOfRecordsHasAListAndAnExport(t *testing.T) {
	for _, kind := range records.Kinds {
		for _, path := range [][]string{{strings.TrimSuffix(kind.Name, "s"), "list"}, {"export", kind.Name}} {
			_, rest, err := newRoot(&settings{}).Find(path)
			require.NoError(t, err)
			assert.Empty(t, rest, path)
		}
	}
}

func TestWhatIsNotThereIsRefused(t *testing.T) {
	walk(newRoot(&settings{}), func(cmd *cobra.Command) {
		if !cmd.HasSubCommands() || cmd.Name() == "fault" || cmd.Name() == "completion" { // whose arguments are kinds
			return
		}
		path := strings.Fields(cmd.CommandPath())[1:]
		stdout, stderr, code := invoke(t, append(path, "no-such-command")...)
		assert.Equal(t, 2, code, path)
		assert.Empty(t, stdout, path)
		assert.Contains(t, stderr, `messaging: unknown command "no-such-command" for "`+cmd.CommandPath()+`"`, path)
	})
	for line, want := range map[string]string{
		"outbox":                        "messaging outbox needs one of its commands; see: messaging outbox --help",
		"outbox pasue":                  `unknown command "pasue" for "messaging outbox"; did you mean pause?`,
		"campaign list":                 `unknown command "campaign" for "messaging"` + "\n",
		"broadcast emial --from-file x": `unknown command "emial" for "messaging broadcast"; did you mean email?`,
		"broadcast push --yes":          "unknown flag: --yes",
		"event get order shipped":       "accepts 1 arg(s), received 2",
		"broadcast push --all-customers --delimiter ;":           "--delimiter has no effect without --to-customers",
		"broadcast push --all-customers --skip-bad-rows":         "--skip-bad-rows has no effect without --to-customers",
		"outbox pause --ledger o.db --json":                      "--json and --ndjson have no effect on messaging outbox pause",
		"broadcast push --all-customers --timezone UTC":          "--timezone has no effect without --at",
		"sandbox --token-file token.txt":                         "--token-file has no effect without --listen",
		"outbox import --from - --event e --map order --dry-run": `--map must be column=name, and not "order"`,
		"customer list --json=a --api-key CANARY":                "unknown flag: --api-key",
		"customer list --token=CANARY":                           "unknown flag: --token",
	} {
		stdout, stderr, code := invoke(t, strings.Fields(line)...)
		assert.Equal(t, 2, code, line)
		assert.Empty(t, stdout, line)
		assert.Contains(t, stderr, want)
		assert.NotContains(t, stderr, "CANARY")
	}
}

func TestAFlagThatIsRequiredSaysSo(t *testing.T) {
	walk(newRoot(&settings{}), func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			isExport := flag.Name == "to" && strings.HasPrefix(cmd.CommandPath(), "messaging export ")
			isContent := strings.HasPrefix(cmd.CommandPath(), "messaging broadcast ") &&
				slices.Contains([]string{"sender-email", "sender-name", "email", "subject", "message", "message-type"}, flag.Name)
			if flag.Annotations[cobra.BashCompOneRequiredFlag] != nil || isExport || isContent {
				assert.Regexp(t, `\(required( without --from-file)?\)$`, flag.Usage, "%s --%s", cmd.CommandPath(), flag.Name)
			}
		})
	})
}

func TestAnEmptyFlagAndAFieldThatIsNotThereAreRefusedByEveryCommand(t *testing.T) {
	s := &settings{stdout: &output.Stdout{Writer: io.Discard}}
	walk(newRoot(s), func(cmd *cobra.Command) {
		profile := cmd.Root().PersistentFlags().Lookup("profile")
		for flag, want := range map[string]string{"--json=no_such_field": "no_such_field",
			"--profile= ": "--profile is empty; is a variable not set?"} {
			profile.Changed, s.profile, s.output.JSON = false, "", "" // by what was before
			require.NoError(t, cmd.ParseFlags([]string{flag}))
			err := s.begin(cmd, nil)
			assert.Equal(t, exit.Usage, exit.CodeOf(err), cmd.CommandPath())
			assert.ErrorContains(t, err, want, cmd.CommandPath())
		}
	})
}

func TestReadmeHasTheExitCodesOfTheHelp(t *testing.T) {
	table := "| code | meaning |\n|---|---|\n"
	stdout, _, _ := invoke(t, "help", "exit-codes")
	assert.Len(t, exit.Meanings, 14)
	order := regexp.MustCompile(`If several codes apply, the first in this order counts: [0-9, ]+\.`).FindString(stdout)
	assert.NotEmpty(t, order)
	assert.Len(t, exit.Order, len(exit.Meanings)-1, "all but 0")
	assert.Contains(t, readme(t), order)
	for _, m := range exit.Meanings {
		assert.NotEmpty(t, m.Code.String(), m.Text)
		table += fmt.Sprintf("| %d | %s |\n", m.Code, m.Text)
		assert.Contains(t, stdout, fmt.Sprintf("  %3d  %s\n", m.Code, m.Text))
	}
	assert.Contains(t, readme(t), table+"\n")
}

func TestReadmeShowsWhatTheSandboxPrints(t *testing.T) {
	var printed strings.Builder
	s := &settings{stdout: &output.Stdout{Writer: &printed}, printer: output.New(output.Flags{}, &printed, &printed)}
	require.NoError(t, s.announce("http://127.0.0.1:8077", "sandbox-…", "http://127.0.0.1:8078"))
	assert.Contains(t, readme(t), "```\n"+printed.String()+"```\n")
}
