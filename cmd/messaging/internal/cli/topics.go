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
If several codes apply, the command exits with the first one in this order: 9, 7, 4, 3, 5, 6, 8, 1.
Reading changes nothing, so a read that failed never exits with 9.`)
	return b.String()
}

const environmentText = `There are three ways to choose the service that a command calls:

  --profile sandbox   a sandbox that runs on this machine
  --profile NAME      a profile of the configuration file
  without --profile   MESSAGING_BASE_URL and MESSAGING_API_KEY, both of them

There is no default profile, and a key from one source is never combined with a URL from
another.

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

  MESSAGING_SANDBOX_URL       inspector of the sandbox (default http://127.0.0.1:8078)
  MESSAGING_SANDBOX_TOKEN     token of a sandbox that listens on other addresses
  MESSAGING_OUTBOX_DATABASE   Postgres database of the outbox, for commands without --ledger
  XDG_STATE_HOME              folder of messaging/sends.jsonl (default ~/.local/state)
  NO_COLOR, CLICOLOR_FORCE, TERM=dumb, COLUMNS   change what a terminal shows`

const outputText = `Data goes to stdout. Plans, questions, progress and errors go to stderr.

On a terminal, rows are a table that is cut to its width, with relative times. In a pipe,
they are TSV with the same columns and no header: nothing is cut, times are RFC 3339, and a
tab, a line break and a backslash in a value are written as \t, \n and \\. In a pipe, the
commands that query the inspector of a sandbox, such as fault list and wait, always print JSON.

  --json          an array of objects, or one object from a command that finds one thing
  --json=f,g      only these fields
  --json=help     the names of the fields
  --ndjson        one object per line

With --json, an error is an object on stderr:

  {"error": {"message", "op", "kind", "delivery", "status", "fields", "retry_after", "exit"}}

delivery is not_sent, rejected, unknown or accepted. It is missing where nothing was to be
sent, and where a read failed that changes nothing. retry_after is in seconds.
Characters that a reader cannot see are escaped, such as \u001b.`

const safetyText = `Before a command sends, it shows a plan and asks. In short:

  Read      the host, the recipients, the time and the warnings of the plan.
  Answer    y on a sandbox; elsewhere the number of recipients, or "all 48211".
  Script    messaging … --confirm "$(messaging … --dry-run)"; nothing else works.
  Warning   it looks like a mistake. A person can override it, or --allow-doubts.
  Refused   it was already sent, or may have been. Look; --again repeats it.
  Exit 8    it was not sent, and can be repeated.
  Exit 9    nobody knows if it was sent. Look first: the error says where.
  Exit 7    partly done, or done but not printed: the error says how to go on.
  Ctrl-C    waits for the send in progress. A second one exits with 9.
  unclear   an entry that may have been sent. "resend" may send it twice.

"messaging help repeats" lists what counts as a repeat, and what keeps an outbox that was
moved, copied or restored from being sent twice. The rest of this text has the details.

The plan

It shows the service and a fingerprint of the API key, the content, the recipients and their
number, the time, whether the same was already sent, and a digest of exactly what is sent. For
a long message or list, it shows only the beginning. The command sends with the key that it
used for the plan, even if the configuration changes before you answer.

The question appears on the terminal, and so does the plan, even if stderr is a file. Answer y
for a sandbox. Otherwise, type the number of recipients or, for all customers, "all" and the
number. Without a terminal, the command needs the digest of a dry run, and refuses to send
anything that has changed since:

  messaging … --confirm "$(messaging … --dry-run)"

The number of all customers is not in the digest. If the account has grown since the dry run,
or while the question waited, the new customers receive the broadcast too. The command counts
them again, and refuses only more than max_recipients or --max-recipients.

The audience

A missing or empty audience is an error, and never means all customers. More recipients than
max_recipients are refused. Segments need --allow-unknown-count, because their size is
unknown. A profile with "allow" reaches nobody else.

An empty flag is an error, and so is an empty field in the JSON file of --from-file or
--customer. An empty cell of a CSV file, or an empty or null field in a line of JSON, is left out.

Doubts

A doubt is a warning about something that looks like a mistake. Only a person can override it,
on a terminal; --confirm cannot without --allow-doubts, because a script does not read warnings.

  in a recipient   an address or NaN in place of an id, c-null, {{email}}@example.com, an address
                   that is in cc and in the list too
  in a value       null, #REF!, $ORDER, {order}, a program's error message or a printed object,
                   in a name or in a required text
  in a text        a subject or a message that is unfinished, has {{coupon}} without a variable,
                   a shell variable, a link that nobody can follow or "Hello null", is a file name,
                   a list of addresses or an error page, or seems to be cut off
  in a schedule    more than a year away, or in the hour that the clocks skip or repeat
  in a file        some customers have only an address and others only an id (in an import: rows
                   with the same values); in a broadcast, ids or addresses that differ only in
                   their spelling
  in an import     an id with several addresses, an address with several ids, or a quotation
                   mark that seems to have joined rows

What no check finds

These are patterns, and no list of them is complete. A word that may be intended, such as none,
unknown or error, is no doubt, and neither is 0. In a script, check that the command that
produces a value has succeeded.

A file that ends in the middle of its last value looks complete, so wait until the program that
writes it has finished. Files that were joined without a line break between them look complete
too. No check can detect a name or a number that belongs to a different customer.

Repeats, interrupts and exit codes

With --again, the digest names the sends that it repeats, so it allows one repeat: leave --again
out of scripts that may run twice. A send that is still in progress is never repeated, even with
--again.

After the first Ctrl-C, the command waits for a send in progress, so that you learn its outcome.
A second Ctrl-C, or Ctrl-\, stops waiting and exits with code 9.

Exit code 9 means: look before you repeat it. Exit code 7 after a send means that it was
accepted, but the output could not be written.`

const repeatsText = `What was already sent, or may have been, is refused without --again. "May have been" means
that the response was lost, or that the command was killed. "Like" is explained below.

Broadcasts are refused if

  - exactly the same broadcast was accepted in the last 24 hours, or may have been carried out
    at any time. The order of the customers makes no difference. For a scheduled broadcast, the
    24 hours begin at its time
  - one in the same channel with the same subject or the same message was accepted in the last
    24 hours, or may have been carried out at any time, whoever received it: this one may be a
    corrected copy. Only letters and digits are compared. After one that may have been carried
    out, words that contain digits or belong to a date are ignored too, since a script may have
    taken them from a clock
  - the last broadcast to the same customers is less than 24 hours old and may have been carried
    out: look first
  - it is scheduled, and an earlier one has the same list of customers and the same time, however
    old it is

A correction with a different time, subject and message, or with different customers, counts as a
new broadcast.

Triggers are refused if

  - one like it was accepted in the last 24 hours, or may have been carried out at any time.
    After one that may have been carried out, times are not compared, since a script may have
    taken them from a clock
  - a row like it was imported in the last six days

Imports and resends are refused if

  - a row is like a row that was imported in the last six days, like a trigger of the last six
    days, or like another row of the file
  - "outbox resend" would send an entry that is like a trigger since the entry was added, or like
    a row imported since then and in the last six days

Like means the same event, the same customer, and the same required values. If the event requires
no values, all values are compared.

  How a value is written makes no difference: case, spaces, punctuation (INV-2026-0001 is
  INV20260001), leading zeros, zeros after a decimal point (12.50 is 12.5), the form of a number
  (71001.0, 71,001, 7.1001E+04), the digits of another script, and the zone of a time. A blank
  value counts as none. Synonyms, dates in a different order, and rounded numbers are different
  values. In customer ids, characters between digits matter: 1-23 is not 123.

  Two customers are the same if their addresses or their ids match. Nobody can tell whether an
  address and an id belong to one customer, so name customers in the same way each time. If the
  values are the same, a trigger with only an id is refused after a trigger or a row with only an
  address, and vice versa; an import that is confirmed with --confirm then needs --again.

  Two events are the same if their names or their ids match. If the values that an event requires
  have changed since an earlier import or trigger, a new import cannot be compared with it, and
  --confirm needs --again. A trigger needs --again only if the event no longer has a parameter
  that it once required.

Where it is recorded

Before a broadcast or a trigger, a line is written to sends.jsonl in the state folder of your user
on this machine: other machines do not know of it. The line has the host and the port of the
service, which profiles share, and the time. Of content and recipients it has only hashes.

Outbox files and backups

The state folder also records how far each outbox has progressed. An outbox that was moved,
copied, or restored from a backup is not sent without --accept-change, and neither is a file
that was used only with another state folder. What was pending or rejected in a backup then
becomes unclear, since it may have been sent: look, and resend or dismiss it. If a backup is
restored while a run is using the outbox, the run stops and sends nothing from the backup.

A database is identified by its name, its schema and the number that its server assigned to it.
On a machine that has never used the database, a copy with the same name on a different server
is not recognized as a copy.`
