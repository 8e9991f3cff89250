package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
)

// newTopics returns the texts of messaging help TOPIC.
func newTopics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "exit-codes", Short: "What the exit codes mean", Long: exitCodes()},
		{Use: "environment", Short: "The configuration file and the environment variables", Long: environmentText},
		{Use: "output", Short: "Tables, TSV and JSON", Long: outputText},
		{Use: "safety", Short: "What keeps you from sending something by mistake", Long: safetyText},
		{Use: "repeats", Short: "What counts as a repeat, and what an outbox remembers", Long: repeatsText},
	}
}

func exitCodes() string {
	var b strings.Builder
	b.WriteString("The exit codes never change their meaning.\n\n")
	for _, m := range exit.Meanings {
		fmt.Fprintf(&b, "  %3d  %s\n", m.Code, m.Text)
	}
	b.WriteString(`
If several of these apply to one command, it exits with the first of 9, 7, 4, 3, 5, 6, 8 and 1 that
applies.
Reading changes nothing, so a read that failed never exits with 9.`)
	return b.String()
}

const environmentText = `A command that calls the service has to know which one. There are three ways:

  --profile sandbox   a sandbox that runs on this machine
  --profile NAME      a profile of the configuration file
  without --profile   MESSAGING_BASE_URL and MESSAGING_API_KEY, both of them

No profile is the default, and a key from one source is never combined with a URL
from another.

The configuration file is config.toml in $XDG_CONFIG_HOME/messaging, or in
~/.config/messaging; on Windows, in %AppData%\messaging. Only you may write to it.

  [profiles.production]
  base_url = "https://api.example.com"
  kind = "production"             # production (default), staging or sandbox
  key_command = ["op", "read", "op://ops/messaging/key"]
  max_recipients = 500            # the default is 100
  rate = "50/s"

  [profiles.staging]
  base_url = "https://staging.example.com"
  kind = "staging"
  key_file = "staging.key"        # beside config.toml; only you may read it
  allow = ["@acme.test", "id:qa-7"]

  MESSAGING_SANDBOX_URL     inspector of the sandbox (default http://127.0.0.1:8078)
  MESSAGING_SANDBOX_TOKEN   token of a sandbox that listens on other addresses
  XDG_STATE_HOME            folder of messaging/sends.jsonl (default ~/.local/state)
  NO_COLOR, CLICOLOR_FORCE, TERM=dumb, COLUMNS   change what a terminal shows`

const outputText = `Data goes to stdout. Plans, questions, progress and errors go to stderr.

On a terminal, rows are a table that is cut to its width, with relative times. In a pipe,
they are TSV without a header: nothing is cut, times are RFC 3339, and a tab, a line
break and a backslash in a value are written as \t, \n and \\. The commands that ask the
inspector of a sandbox, such as fault list and wait, always print JSON there.

  --json          an array of objects, with the fields that the service has
  --json=f,g      only these fields
  --json=help     the names of the fields
  --ndjson        one object per line

With --json, an error is an object on stderr:

  {"error": {"message", "op", "kind", "delivery", "status", "fields", "retry_after", "exit"}}

delivery is not_sent, rejected, unknown or accepted, and retry_after is in seconds.
Characters that a reader cannot see are escaped, such as \u001b.`

const safetyText = `Before a command sends, it shows a plan and asks. In short:

  Read      the host, the recipients, the time and the warnings of the plan.
  Answer    y on a sandbox; elsewhere the number of recipients, or "all 48211".
  Script    messaging … --confirm "$(messaging … --dry-run)"; nothing else does.
  Warning   --confirm refuses what looks like a mistake; a person can override.
  Refused   it was, or may have been, sent before. Look; --again repeats it.
  Exit 8    it was not sent, and can be repeated.
  Exit 9    nobody knows if it was sent. Look first: the error says where.
  Exit 7    partly done, or done but not printed: the error says how to go on.
  Ctrl-C    waits for the send in progress. A second one exits with 9.
  unclear   an entry that may have been sent. "resend" may send it twice.

"messaging help repeats" has what counts as a repeat, and what keeps an outbox that was
moved, copied or restored from being sent twice. The rest of this text has the details.

Every command that sends shows its plan first: the service and a fingerprint of the API key,
what they receive, who they are and how many, when, whether the same was sent before, and a
digest of exactly what is sent. Of a long message and of a list, the plan shows the beginning.
Then it asks on the terminal, where the plan appears even if stderr is a file: y for a sandbox,
otherwise the number of recipients, or "all" and the number for all customers. The key of the
plan is the one that sends, even if the configuration changes before the answer.

Without a terminal, it needs the digest of a dry run, and refuses anything that has
changed since:

  messaging … --confirm "$(messaging … --dry-run)"

The number of all customers is not in the digest. If the account has grown since the dry
run, or while the question waited, the new customers receive the broadcast too: they are
counted again, and it is refused only above max_recipients or --max-recipients.

What looks like a mistake is a doubt. Only a person can override it, on a terminal; --confirm
cannot, unless --allow-doubts is given, because a script does not read warnings. Doubts are:

  in a recipient   an address or NaN in place of an id, c-null, {{email}}@example.com, an address
                   that is in cc and in the list too
  in a value       null, #REF!, $ORDER, {order}, the error of a program or an object that it
                   printed, in a name or in a text that is required
  in a text        a subject or a message that is unfinished, has {{coupon}} without a variable,
                   a variable of a shell, a link that leads nowhere or "Hello null", is a file
                   name, a list of addresses or an error page, or seems to be cut off
  in a schedule    more than a year away, or in the hour that the clocks skip or repeat
  in a file        some customers have only an address and others only an id; in an import, with
                   the same values
  in an import     an id with several addresses, an address with several ids, or a quotation
                   mark that seems to have joined rows

These are patterns, and no list of them is complete. A word that may be meant, such as none,
unknown or error, is no doubt, and neither is 0. In a script, check that the command that
makes a value has succeeded.

Only a broadcast compares the spelling of ids and addresses within its file. A file that ends
in the middle of its last value looks complete: wait until the program that writes it has
finished. So does one that was joined from others without a line break between them, and
nobody can see that a name or a number belongs to another customer.

An audience that is missing or empty is an error, and never means all customers. More
recipients than max_recipients are refused. Segments need --allow-unknown-count, because
their size is unknown. A profile with "allow" reaches nobody else.

With --again, the digest names the sends that it repeats, so it allows one repeat: leave --again
out of scripts that may run twice. A send that is still in progress is never repeated, even with
--again.

After the first Ctrl-C, the command waits for a send in progress, so that you learn its outcome.
A second Ctrl-C, or Ctrl-\, stops waiting and exits with code 9.

Exit code 9 means: look before you repeat it. Exit code 7 after a send means that it was
accepted, but the output could not be written.`

const repeatsText = `Before a broadcast or a trigger, a line is written to sends.jsonl, without addresses. A
broadcast or a trigger is refused without --again if exactly the same one was accepted in the
last 24 hours, or may have been carried out at any time. For a scheduled broadcast, the 24 hours
begin at its time. The order of the customers makes no difference, and neither does the profile:
a service is known by its host and port.

The same applies to a broadcast in the same channel with the same subject or the same message,
whoever receives it: it may be a corrected copy. Subjects and messages are compared by their
letters and digits only; after one that may have been carried out, without the words that have
digits or are of a date, since a script may have taken them from a clock. If the last broadcast
to the same customers may have been carried out, and that was less than 24 hours ago, every other
one to them is refused: look first. A scheduled broadcast is also refused if an earlier one has
the same list of customers and the same time, however old it is: a correction with another time,
subject and message, or with other customers, is a second broadcast.

A trigger is also refused if it is like a trigger that was accepted in the last 24 hours or may
have been carried out at any time, or like a row that was imported in the last six days. After
a trigger that may have been carried out, times are not compared, since a script may have taken
them from a clock; between a trigger and a row, they are. Like means the same event, the same
customer, and the same required values; if the event requires no values, all values are
compared. An import is refused if a row is like a row or a trigger of the last six days, or
like another row of the file. How a value is written makes no difference: case, spaces,
punctuation (INV-2026-0001 is INV20260001), leading zeros, zeros after a decimal point (12.50
is 12.5), the form of a number (71001.0, 71,001, 7.1001E+04), the digits of another script, and
the zone of a time. A blank value counts as none. Other words for the same, dates in another
order, and numbers that were rounded are other values. In customer ids, characters between
digits matter: 1-23 is not 123.

Two customers are the same if their addresses or their ids match. Nobody can tell whether an
address and an id belong to one customer, so name customers in the same way each time: with the
same values, a trigger by id alone is refused after a trigger or a row by address alone, and the
other way round. For an import after such a trigger or row, --confirm needs --again. Two events
are the same if their names or their ids match. If an event now requires other values than at an
earlier import or trigger, an import cannot be compared with it, and --confirm needs --again. A
trigger needs it only if the event no longer has a parameter that it required.

"outbox resend" refuses what was triggered since the entry was added, or imported since then and
in the last six days. The state folder stores only hashes of all this.

The state folder also records how far each outbox has progressed. An outbox that was moved,
copied, or restored from a backup is not sent without --accept-change, and neither is a file
that was used only with another state folder. What was pending or rejected in a backup
then becomes unclear, since it may have been sent: look, and resend or dismiss it. A run stops
when a backup is restored under it, and sends nothing of it. A database is known by its name, its schema and
the number that its server has given it, so on a machine that has never used it, a copy by the
same name on another server is not recognized.`
