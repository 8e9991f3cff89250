package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/alike"
	"github.com/messaging-go/messaging/cmd/messaging/internal/confirm"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/oddity"
	"github.com/messaging-go/messaging/cmd/messaging/internal/output"
	"github.com/messaging-go/messaging/cmd/messaging/internal/profile"
	"github.com/messaging-go/messaging/cmd/messaging/internal/recipients"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// audienceFlags are the flags that say who receives a broadcast.
type audienceFlags struct {
	customers, segments string
	everyone            bool
	skipBad             bool
	max                 int
	unknownCount        bool
	doubts              bool
}

func (f *audienceFlags) add(cmd *cobra.Command) {
	set := cmd.Flags()
	set.StringVar(&f.customers, "to-customers", "", "send to the customers in `FILE`")
	set.StringVar(&f.segments, "segments", "", "send to the segments with these ids, such as `a,b`; needs --allow-unknown-count")
	set.BoolVar(&f.everyone, "all-customers", false, "send to all customers of the account")
	set.BoolVar(&f.skipBad, "skip-bad-rows", false, "leave out rows of FILE that cannot be used")
	set.IntVar(&f.max, "max-recipients", 0, "refuse more than `N` recipients (default: the limit of the profile, or 100)")
	addAllowDoubts(set, &f.doubts, "content or recipients that look like a mistake")
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
	max      int
	total    *int // recipients; nil if their number is not known
	limited  bool // --max-recipients is given
}

// check returns an error unless there is one audience. The operator learns it before anything else.
func (f *audienceFlags) check(set *pflag.FlagSet) error {
	given := 0
	for _, is := range []bool{set.Changed("to-customers"), set.Changed("segments"), f.everyone} {
		if is {
			given++
		}
	}
	if given != 1 {
		return exit.With(exit.Usage, "pass exactly one of --to-customers, --segments and --all-customers; nothing was sent")
	}
	return nil
}

// read reads the audience. An audience that is missing or empty is an error: it never means
// everyone.
func (f *audienceFlags) read(cmd *cobra.Command) (*audience, error) {
	set := cmd.Flags()
	a := &audience{flags: f, max: f.max, limited: set.Changed("max-recipients")}
	switch {
	case a.limited && set.Changed("segments"):
		return nil, exit.With(exit.Usage, "--max-recipients cannot limit --segments, whose size is unknown; nothing was sent")
	case a.limited && f.max < 1:
		return nil, exit.With(exit.Usage, "--max-recipients must be at least 1")
	case f.unknownCount && !set.Changed("segments"):
		return nil, exit.With(exit.Usage, "--allow-unknown-count has no effect without --segments")
	case f.skipBad && !set.Changed("to-customers"):
		return nil, exit.With(exit.Usage, "--skip-bad-rows has no effect without --to-customers")
	case f.everyone:
		a.to = messaging.AllCustomers()
		return a, nil
	case set.Changed("segments"):
		return a, a.readSegments()
	}
	var err error
	if a.list, err = recipients.Read(f.customers, cmd.InOrStdin(), f.skipBad); err != nil {
		return nil, err
	}
	a.to = messaging.ToCustomers(a.list.Customers...)
	return a, nil
}

func (a *audience) readSegments() error {
	for id := range strings.SplitSeq(a.flags.segments, ",") {
		id = strings.TrimSpace(id)
		if id == "" || strings.HasPrefix(id, "-") {
			return exit.With(exit.Usage, "--segments must be ids such as a,b, and not %q; nothing was sent", a.flags.segments)
		}
		if slices.Contains(a.segments, id) {
			return exit.With(exit.Usage, "--segments has %q twice; nothing was sent", id)
		}
		a.segments = append(a.segments, id)
	}
	if !a.flags.unknownCount {
		return exit.With(exit.Usage, "the size of a segment is unknown: the service does not show it; "+
			"to send to segments, pass --allow-unknown-count")
	}
	a.to = messaging.ToSegments(a.segments...)
	return nil
}

// checkLimit counts the recipients, and refuses too many of them, or any that the profile
// does not allow.
func (a *audience) checkLimit(ctx context.Context, s *settings, service *profile.Service, prepared *messaging.Prepared) error {
	if !a.limited {
		a.max = service.MaxRecipients
	}
	uncheckable := ""
	switch {
	case a.segments != nil:
		uncheckable = "a segment"
	case a.list == nil:
		uncheckable = "the list of all customers"
	}
	if err := checkAllowed(ctx, service, prepared, uncheckable); err != nil {
		return err
	}
	total := a.extras()
	switch {
	case a.segments != nil:
		return nil
	case a.list != nil:
		total += len(a.list.Customers)
		a.total = &total
		return checkLimit(ctx, prepared, a.max, " (--max-recipients raises the limit)")
	}
	a.total = &total
	return a.countEveryone(ctx, s, service)
}

// countEveryone adds all customers of the account to the total, and refuses too many of them.
func (a *audience) countEveryone(ctx context.Context, s *settings, service *profile.Service) error {
	customers, err := s.countCustomers(ctx, service)
	if err != nil {
		return err
	}
	*a.total += customers
	if *a.total > a.max {
		others := ""
		if n := a.extras(); n > 0 {
			others = ", which with " + words.Count(n, "other recipient") + " makes " + words.Thousands(*a.total)
		}
		return exit.With(exit.Usage, "the account has %s%s, and the limit is %s; nothing was sent (--max-recipients raises the limit)",
			words.Count(customers, "customer"), others, words.Thousands(a.max))
	}
	return nil
}

// countAgain refuses a broadcast to all customers if there are too many of them by now: the
// account may have grown while the operator was asked.
func (a *audience) countAgain(ctx context.Context, s *settings, service *profile.Service) error {
	if a.segments != nil || a.list != nil {
		return nil
	}
	*a.total = a.extras()
	return a.countEveryone(ctx, s, service)
}

// extras is the number of recipients outside of the audience.
func (a *audience) extras() (n int) {
	for _, each := range a.extra {
		n += len(each.addresses)
	}
	return n
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

// guards are the guards of the client that sends.
func (a *audience) guards() []messaging.Option {
	if a.list == nil {
		return nil
	}
	return []messaging.Option{messaging.WithGuard(messaging.MaxRecipients(a.max))}
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

func (a *audience) describe(plan *confirm.Plan) {
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
	text := strings.Join(parts, ", ")
	if a.total != nil {
		text = words.Thousands(*a.total) + ": " + text
	}
	plan.Add("recipients", text)
	doubt := doubtOf(plan, a.flags.doubts)
	doubtEach(doubt, "segment", oddity.Segment, a.segments...)
	if a.list != nil {
		a.describeList(plan, doubt)
	}
	a.describeTwice(doubt)
}

// addAllowDoubts adds a flag with which a script confirms what looks like a mistake.
func addAllowDoubts(set *pflag.FlagSet, allowed *bool, what string) {
	set.BoolVar(allowed, "allow-doubts", false, "let --confirm confirm "+what)
}

// doubting adds to a plan what looks like a mistake.
type doubting func(format string, args ...any)

// doubtOf returns a function that adds a doubt to a plan, or a warning if doubts are allowed.
func doubtOf(plan *confirm.Plan, allowed bool) doubting {
	if allowed {
		return plan.Warn
	}
	return func(format string, args ...any) { plan.Doubt("--allow-doubts", format, args...) }
}

// describeCustomer lists the values of a customer, which the service stores.
func describeCustomer(c messaging.CustomerParams) string {
	known := slices.DeleteFunc([]string{c.CustomerID, c.Email, strings.TrimSpace(c.FirstName + " " + c.LastName), c.PhoneNo},
		func(s string) bool { return s == "" })
	return strings.Join(known, ", ") + ", created or updated"
}

// describeList adds the first row of the file, and what is odd about the rows of the file.
func (a *audience) describeList(plan *confirm.Plan, doubt doubting) {
	plan.Add("first row", describeCustomer(a.list.Customers[0]))
	if a.list.Duplicates > 0 {
		plan.Add("left out", words.Count(a.list.Duplicates, "row")+" with a customer of an earlier row")
	}
	if len(a.list.Bad) > 0 {
		plan.Warn("%s cannot be used and left out:\n%s", words.Count(len(a.list.Bad), "row"), recipients.First(a.list.Bad))
	}
	if len(a.list.Odd) > 0 {
		doubt("%s may be a mistake:\n%s", words.Count(len(a.list.Odd), "row"), recipients.First(a.list.Odd))
	}
}

// describeTwice adds the addresses that are in two places.
func (a *audience) describeTwice(doubt doubting) {
	const twice = "%s is in %s and in %s: it counts twice, and may get two copies"
	fields := make(map[string]string) // where an address was first
	for _, each := range a.extra {
		for _, address := range each.addresses {
			if a.list != nil && a.list.Has(address) {
				doubt(twice, address, each.field, a.list.Name)
			}
			if first, is := fields[alike.Address(address)]; is {
				doubt(twice, address, first, each.field)
			}
			fields[alike.Address(address)] = each.field
		}
	}
}
