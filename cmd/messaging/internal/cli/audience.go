package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/confirm"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/output"
	"github.com/messaging-go/messaging/cmd/messaging/internal/profile"
	"github.com/messaging-go/messaging/cmd/messaging/internal/recipients"
	"github.com/messaging-go/messaging/cmd/messaging/internal/rows"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// audienceFlags are the flags that say who receives a broadcast.
type audienceFlags struct {
	customers, segments string
	delimiter           string
	everyone            bool
	skipBad             bool
	max                 int
	unknownCount        bool
}

func (f *audienceFlags) add(cmd *cobra.Command) {
	set := cmd.Flags()
	set.StringVar(&f.customers, "to-customers", "", "send to the customers in `FILE`")
	set.StringVar(&f.segments, "segments", "", "send to the segments with these ids, such as `a,b`; needs --allow-unknown-count")
	set.BoolVar(&f.everyone, "all-customers", false, "send to all customers of the account")
	set.StringVar(&f.delimiter, "delimiter", "", delimiterUsage)
	set.BoolVar(&f.skipBad, "skip-bad-rows", false, "leave out rows of FILE that cannot be used")
	set.IntVar(&f.max, "max-recipients", 0, "refuse more than `N` recipients (default: the limit of the profile, or 100)")
	set.BoolVar(&f.unknownCount, "allow-unknown-count", false, "allow segments, whose size the service does not show")
}

// extraRecipients are recipients outside of the audience, in one field.
type extraRecipients struct {
	field     string
	addresses []string
}

// audience is who receives a broadcast.
type audience struct {
	flags    *audienceFlags
	to       messaging.Audience
	list     *recipients.List // nil unless the audience is a file
	segments []string
	extra    []extraRecipients
	total    *int // recipients; nil if their number is not known
}

// read reads the audience. An audience that is missing or empty is an error: it never means
// everyone.
func (f *audienceFlags) read(cmd *cobra.Command) (*audience, error) {
	set := cmd.Flags()
	if err := f.check(set); err != nil {
		return nil, err
	}
	a := &audience{flags: f, to: messaging.AllCustomers()}
	switch {
	case f.everyone:
		return a, nil
	case set.Changed("segments"):
		return a, a.readSegments()
	}
	delimiter, err := rows.ParseDelimiter(f.delimiter)
	if err != nil {
		return a, exit.With(exit.Usage, "--delimiter: %w", err)
	}
	if a.list, err = recipients.Read(f.customers, delimiter, cmd.InOrStdin(), f.skipBad); err != nil {
		return nil, err
	}
	a.to = messaging.ToCustomers(a.list.Customers...)
	return a, nil
}

// check returns an error unless there is one audience, and the other flags are about it.
func (f *audienceFlags) check(set *pflag.FlagSet) error {
	given := 0
	for _, is := range []bool{set.Changed("to-customers"), set.Changed("segments"), f.everyone} {
		if is {
			given++
		}
	}
	switch {
	case given != 1:
		return exit.With(exit.Usage, "pass exactly one of --to-customers, --segments and --all-customers; nothing was sent")
	case set.Changed("max-recipients") && set.Changed("segments"):
		return exit.With(exit.Usage, "--max-recipients cannot limit --segments, whose size is unknown; nothing was sent")
	case set.Changed("max-recipients") && f.max < 1:
		return exit.With(exit.Usage, "--max-recipients must be at least 1")
	case set.Changed("segments") && !f.unknownCount:
		return exit.With(exit.Usage, "the size of a segment is unknown: the service does not show it; "+
			"to send to segments, pass --allow-unknown-count")
	}
	return errors.Join(needs(set, "allow-unknown-count", "segments"), needs(set, "skip-bad-rows", "to-customers"),
		needs(set, "delimiter", "to-customers"))
}

// needs returns an error if a flag is given without another, whose meaning it changes.
func needs(set *pflag.FlagSet, flag, other string) error {
	if set.Changed(flag) && !set.Changed(other) {
		return exit.With(exit.Usage, "--%s has no effect without --%s", flag, other)
	}
	return nil
}

func (a *audience) readSegments() error {
	for id := range strings.SplitSeq(a.flags.segments, ",") {
		id = strings.TrimSpace(id)
		if id == "" || strings.HasPrefix(id, "-") || slices.Contains(a.segments, id) {
			return exit.With(exit.Usage, "--segments must be ids such as a,b, each once, and not %q; nothing was sent", a.flags.segments)
		}
		a.segments = append(a.segments, id)
	}
	a.to = messaging.ToSegments(a.segments...)
	return nil
}

// guard counts the recipients, and refuses too many of them, or any that the profile does not
// allow.
func (a *audience) guard(cmd *cobra.Command, s *settings, service *profile.Service, prepared *messaging.Prepared) error {
	uncheckable := ""
	switch {
	case a.segments != nil:
		uncheckable = "a segment"
	case a.list == nil:
		uncheckable = "the list of all customers"
	}
	ctx := cmd.Context()
	if err := checkAllowed(ctx, service, prepared, cmd.Flags(), uncheckable); err != nil || a.segments != nil {
		return err
	}
	total := a.extras()
	if a.list != nil {
		total += len(a.list.Customers)
	} else if customers, err := s.countCustomers(ctx, service); err != nil {
		return err
	} else {
		total += customers
	}
	a.total = &total
	return checkLimit(total, cmp.Or(a.flags.max, service.MaxRecipients), fmt.Sprintf(" (%s; --max-recipients %d allows them)", a.parts(), total))
}

// extras is the number of addresses outside of the audience that no customer of it has.
func (a *audience) extras() int {
	seen := make(map[string]bool)
	for _, each := range a.extra {
		for _, address := range each.addresses {
			if a.list == nil || !a.list.Has(address) {
				seen[recipients.LowerASCII(address)] = true
			}
		}
	}
	return len(seen)
}

// countCustomers counts the customers of the account by listing them.
func (s *settings) countCustomers(ctx context.Context, service *profile.Service) (n int, err error) {
	client, err := service.Client()
	if err != nil {
		return 0, err
	}
	ctx, end := s.limited(ctx)
	defer end()
	progress := s.printer.NewProgress(0)
	defer progress.Stop()
	for page, err := range client.Customers.Pages(ctx, messaging.CustomerListParams{PerPage: pageSize}) {
		if err != nil {
			return 0, fmt.Errorf("cannot count the customers: %w", err)
		}
		n += len(page.Items)
		progress.Set(output.Counts{OK: n})
	}
	if n == 0 {
		return 0, exit.With(exit.Usage, "the account has no customers; nothing was sent")
	}
	return n, nil
}

// answer is what the operator types outside of a sandbox.
func (a *audience) answer() string {
	switch {
	case a.segments != nil:
		return strings.Join(a.segments, ",")
	case a.list == nil:
		return fmt.Sprintf("all %d", *a.total)
	}
	return fmt.Sprint(*a.total)
}

// parts says where the recipients come from.
func (a *audience) parts() string {
	var parts []string
	switch {
	case a.segments != nil:
		parts = append(parts, words.Count(len(a.segments), "segment")+" ("+strings.Join(a.segments, ", ")+"), of unknown size")
	case a.list != nil:
		parts = append(parts, words.Count(len(a.list.Customers), "customer")+" of "+a.list.Name)
	default:
		parts = append(parts, "EVERYONE: all "+words.Count(*a.total-a.extras(), "customer")+" of the account")
	}
	for _, each := range a.extra {
		if n := len(each.addresses); n > 0 {
			parts = append(parts, fmt.Sprintf("%d in %s", n, each.field))
		}
	}
	return strings.Join(parts, ", ")
}

func (a *audience) describe(plan *confirm.Plan) {
	text := a.parts()
	if a.total != nil {
		text = words.Thousands(*a.total) + ": " + text
	}
	plan.Add("recipients", text)
	if a.list == nil {
		return
	}
	plan.Add("first row", describeCustomer(a.list.Customers[0]))
	if a.list.Duplicates > 0 {
		plan.Add("left out", words.Count(a.list.Duplicates, "row")+" with a customer of another row")
	}
	if a.list.Bad.Count > 0 {
		plan.Add("left out", words.Count(a.list.Bad.Count, "row")+" that cannot be used:"+a.list.Bad.String())
	}
}

// describeCustomer lists the values of a customer, which the service stores.
func describeCustomer(c messaging.CustomerParams) string {
	known := slices.DeleteFunc([]string{c.CustomerID, c.Email, strings.TrimSpace(c.FirstName + " " + c.LastName), c.PhoneNo},
		func(s string) bool { return s == "" })
	return strings.Join(known, ", ") + ", created or updated"
}
