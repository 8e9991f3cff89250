package messaging

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/messaging-go/messaging/internal/arguments"
	"github.com/messaging-go/messaging/internal/exchange"
)

// AllowOnly returns a guard for [WithGuard] that refuses every send that could reach
// anyone not listed, so that a test system cannot email anyone else. A pattern is
//
//   - "qa@acme.test", an email address,
//   - "@acme.test", every address in a domain, but not in its subdomains, if the part
//     before the @ is ASCII without "!" and "%", or
//   - "id:qa-7", the customer with that customer id.
//
// ASCII letters in addresses match regardless of case, and everything else must match
// exactly: a domain and its punycode form are different domains. Every address in a send
// must be listed, even the address of a customer whose id is listed.
//
// The guard refuses sends to segments, sends to all customers, and requests that
// [Recipients] reports as unmodelled. It also refuses a customer with an unlisted id, a
// phone number or a device, since the service may use these to reach or overwrite another
// customer. A send that addresses nobody, such as the creation of an event, passes.
//
// If a pattern is invalid, the guard refuses every send, and its error names the pattern.
func AllowOnly(patterns ...string) func(ctx context.Context, p *Prepared) error {
	allowed := make(allowList)
	var invalid error
	for _, pattern := range patterns {
		if !isPattern(pattern) && invalid == nil {
			invalid = patternError(pattern)
		}
		allowed.add(pattern)
	}
	return func(_ context.Context, p *Prepared) error {
		if invalid != nil {
			return invalid
		}
		return allowed.check(p.Recipients())
	}
}

// patternError is an invalid pattern of AllowOnly.
type patternError string

func (e patternError) Error() string {
	return fmt.Sprintf("AllowOnly: pattern %q is not an email address, @domain or id:customer", string(e))
}

// MaxRecipients returns a guard for [WithGuard] that refuses a send to more than n
// recipients. The recipients are the customers, and the addresses in email, cc and bcc of
// an email broadcast. Sends to segments, sends to all customers, and requests that
// [Recipients] reports as unmodelled are refused, since their number of recipients is
// unknown.
func MaxRecipients(n int) func(ctx context.Context, p *Prepared) error {
	return func(_ context.Context, p *Prepared) error {
		reach := p.reach()
		if err := reach.uncountable(); err != nil {
			return err
		}
		if count := reach.Customers + reach.addresses; count > n {
			return fmt.Errorf("%d recipients exceed the limit of %d", count, n)
		}
		return nil
	}
}

var (
	errUnmodelled = errors.New("cannot tell who would receive this request")
	errEveryone   = errors.New("not allowed: all customers")
	errSegments   = errors.New("not allowed: segments")
	errPhone      = errors.New("not allowed: customers with a phone number")
	errDevice     = errors.New("not allowed: customers with a device")
)

// uncountable returns why the number of recipients is unknown, nil if it is known.
func (r Recipients) uncountable() error {
	switch {
	case r.Unmodelled:
		return errUnmodelled
	case r.Everyone:
		return errEveryone
	case len(r.Segments) > 0:
		return errSegments
	}
	return nil
}

// allowList is a set of patterns, with addresses and domains in lower case.
type allowList map[string]bool

const idPattern = "id:"

func isPattern(pattern string) bool {
	if id, ok := strings.CutPrefix(pattern, idPattern); ok {
		return id != ""
	}
	local, domain, _ := strings.Cut(pattern, "@")
	if local == "" {
		local = "anyone"
	}
	return isOneAddress(local+"@"+domain) && !strings.Contains(pattern, "*") &&
		!strings.HasPrefix(domain, ".") && !strings.HasSuffix(domain, ".")
}

func (l allowList) add(pattern string) {
	if !strings.HasPrefix(pattern, idPattern) {
		pattern = arguments.LowerASCII(pattern)
	}
	l[pattern] = true
}

func (l allowList) check(r Recipients) error {
	if err := r.uncountable(); err != nil {
		return err
	}
	switch {
	case len(r.Phones) > 0:
		return errPhone
	case r.Devices > 0:
		return errDevice
	}
	if n := count(r.Emails, func(address string) bool { return !l.hasAddress(address) }); n > 0 {
		return fmt.Errorf("not allowed: %d of %d email addresses", n, len(r.Emails))
	}
	if n := count(r.CustomerIDs, func(id string) bool { return !l[idPattern+id] }); n > 0 {
		return fmt.Errorf("not allowed: %d of %d customer ids", n, len(r.CustomerIDs))
	}
	return nil
}

func (l allowList) hasAddress(address string) bool {
	address = arguments.LowerASCII(address)
	local, domain, _ := strings.Cut(address, "@")
	return isOneAddress(address) && (l[address] || isPlainLocal(local) && l["@"+domain])
}

// isOneAddress reports whether text can only be read as a single address without a display
// name.
func isOneAddress(text string) bool {
	return arguments.LooksLikeEmail(text) && !strings.ContainsAny(text, `,;:<>()[]"\`)
}

// isPlainLocal reports whether the part of an address before the @ cannot be mistaken for
// an address in another domain: by a server that forwards mail, or after a normalization
// that turns other characters into separators.
func isPlainLocal(local string) bool {
	return exchange.IsPrintable(local) && !strings.ContainsAny(local, "!%")
}

func count(values []string, matches func(string) bool) int {
	n := 0
	for _, value := range values {
		if matches(value) {
			n++
		}
	}
	return n
}
