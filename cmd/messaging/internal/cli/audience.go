package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/confirm"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/profile"
	"github.com/messaging-go/messaging/cmd/messaging/internal/recipients"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// audienceFlags are the flags that say who receives a broadcast.
type audienceFlags struct {
	customers, segments string
	rows                rowFlags
	everyone            bool
	max                 int
}

func (f *audienceFlags) add(cmd *cobra.Command) {
	set := cmd.Flags()
	set.StringVar(&f.customers, "to-customers", "", "send to the customers in `FILE`")
	set.StringVar(&f.segments, "segments", "", "send to the segments with these ids, such as `a,b`; nobody counts their customers")
	set.BoolVar(&f.everyone, "all-customers", false, "send to all customers of the account")
	f.rows.add(set)
	set.IntVar(&f.max, "max-recipients", 0, "refuse more than `N` recipients (default: the limit of the profile, or 100)")
	cmd.MarkFlagsMutuallyExclusive("to-customers", "segments", "all-customers")
	cmd.MarkFlagsOneRequired("to-customers", "segments", "all-customers")
	cmd.MarkFlagsMutuallyExclusive("segments", "max-recipients") // which cannot limit what is not counted
}

// audience is who receives a broadcast.
type audience struct {
	to          messaging.Audience
	list        *recipients.List // nil unless the audience is a file
	uncheckable string           // what the audience is unless it is a file

	parts  string // where the recipients come from
	total  *int   // recipients; nil if their number is not known
	answer string // what the operator types outside of a sandbox
}

// read reads the audience. An audience that is missing or empty is an error: it never means
// everyone.
func (f *audienceFlags) read(cmd *cobra.Command) (*audience, error) {
	switch set := cmd.Flags(); {
	case set.Changed("max-recipients") && f.max < 1:
		return nil, exit.With(exit.Usage, "--max-recipients must be at least 1")
	case f.everyone:
		return &audience{to: messaging.AllCustomers(), uncheckable: "the list of all customers"}, nil
	case set.Changed("segments"):
		return f.readSegments()
	}
	source, err := f.rows.source(f.customers)
	if err != nil {
		return nil, err
	}
	in, err := openInput(cmd, f.customers)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	list, err := recipients.Read(source, in, f.rows.skipBad)
	if err != nil {
		return nil, err
	}
	return &audience{to: messaging.ToCustomers(list.Customers...), list: list,
		parts: words.Count(len(list.Customers), "customer") + " of " + titleOf(f.customers)}, nil
}

func (f *audienceFlags) readSegments() (*audience, error) {
	var ids []string
	for id := range strings.SplitSeq(f.segments, ",") {
		id = strings.TrimSpace(id)
		if id == "" || strings.HasPrefix(id, "-") || slices.Contains(ids, id) {
			return nil, exit.With(exit.Usage, "--segments must be ids such as a,b, each once, and not %q; nothing was sent", f.segments)
		}
		ids = append(ids, id)
	}
	return &audience{to: messaging.ToSegments(ids...), uncheckable: "a segment", answer: strings.Join(ids, ","),
		parts: words.Count(len(ids), "segment") + " (" + strings.Join(ids, ", ") + "), of unknown size"}, nil
}

// guard counts the recipients, and refuses too many of them, or any that the profile does not
// allow.
func (f *audienceFlags) guard(cmd *cobra.Command, s *settings, a *audience, service *profile.Service, prepared *messaging.Prepared) error {
	if err := checkAllowed(cmd.Context(), service, prepared, cmd.Flags(), a.uncheckable); err != nil {
		return err
	}
	to, err := prepared.Recipients()
	if err != nil {
		return err
	}
	total, all := to.Count, ""
	if f.everyone {
		customers, err := s.countCustomers(cmd.Context(), service)
		if err != nil {
			return err
		}
		total += customers
		all, a.parts = "all ", "EVERYONE: all "+words.Count(customers, "customer")+" of the account"
	}
	if others := to.Count - to.CustomerCount; others > 0 { // of email, cc and bcc
		a.parts += " and " + words.Count(others, "other recipient")
	}
	if a.answer != "" { // segments
		return nil
	}
	a.total, a.answer = &total, all+strconv.Itoa(total)
	return checkLimit(total, cmp.Or(f.max, service.MaxRecipients), fmt.Sprintf(" (%s; --max-recipients %d allows them)", a.parts, total))
}

// countCustomers counts the customers of the account by listing them.
func (s *settings) countCustomers(ctx context.Context, service *profile.Service) (n int, err error) {
	ctx, end := s.limited(ctx)
	defer end()
	progress := s.printer.NewProgress(0)
	defer progress.Stop()
	for page, err := range service.Client.Customers.Pages(ctx, messaging.CustomerListParams{PerPage: pageSize}) {
		if err != nil {
			return 0, fmt.Errorf("cannot count the customers: %w", err)
		}
		n += len(page.Items)
		progress.Set(n, "")
	}
	if n == 0 {
		return 0, exit.With(exit.Usage, "the account has no customers; nothing was sent")
	}
	return n, nil
}

func (a *audience) describe(plan *confirm.Plan) {
	text := a.parts
	if a.total != nil {
		text = words.Thousands(*a.total) + ": " + text
	}
	plan.Add("recipients", text)
	if a.list == nil {
		return
	}
	plan.Add("first row", describeCustomer(a.list.Customers[0]))
	addLeftOut(plan, a.list.LeftOut)
	if a.list.Duplicates > 0 {
		plan.Add("left out", words.Count(a.list.Duplicates, "row")+" with a customer of another row")
	}
	if a.list.Bad.Count > 0 {
		plan.Add("left out", words.Count(a.list.Bad.Count, "row")+" that cannot be used:"+a.list.Bad.String())
	}
}

// addLeftOut lists the columns that are left out.
func addLeftOut(plan *confirm.Plan, columns string) {
	if columns != "" {
		plan.Add("left out", "the columns "+columns)
	}
}

// describeCustomer lists the values of a customer, which the service stores.
func describeCustomer(c messaging.CustomerParams) string {
	known := slices.DeleteFunc([]string{c.CustomerID, c.Email, strings.TrimSpace(c.FirstName + " " + c.LastName), c.PhoneNo},
		func(s string) bool { return s == "" })
	return strings.Join(known, ", ") + ", created or updated"
}
