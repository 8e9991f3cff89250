package messaging

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/messaging-go/messaging/internal/arguments"
)

// AllowOnly returns the guard of [WithAllowOnly], which refuses every send that could reach
// anyone not listed, so that a test system cannot email anyone else. A pattern is
//
//   - "qa@acme.test", an email address,
//   - "@acme.test", the addresses in a domain, but not in its subdomains,
//   - "id:qa-7", the customer with that customer id,
//   - "phone:+15550100", a phone number, or
//   - "device:TOKEN", the device with that token.
//
// ASCII letters in addresses match regardless of case, and everything else must match
// exactly: a domain and its punycode form are different domains. Everything that a send
// names must be listed, even the address of a customer whose id is listed, since the service
// may use each of them to reach or overwrite another customer.
//
// A domain pattern matches an address only if the part before the @ has 1 to 64 characters,
// all of them ASCII letters, digits or one of . _ + ' -, and does not start with "-". List
// any other address itself, such as "a&b@acme.test".
//
// The guard refuses sends to segments, sends to all customers, and requests for which
// [Prepared.Recipients] returns an error. A send that addresses nobody, such as the creation
// of an event, passes.
//
// The error names the first field that is not allowed, and never quotes its value. If a
// pattern is invalid, the guard refuses every send, and the error names the pattern.
func AllowOnly(patterns ...string) func(ctx context.Context, p *Prepared) error {
	allowed, invalid := newAllowList(patterns)
	return func(_ context.Context, p *Prepared) error {
		if len(invalid) > 0 {
			return patternError(invalid[0])
		}
		if err := p.encoded().read(allowed.check); err != nil {
			return fmt.Errorf("AllowOnly: %w", err)
		}
		return nil
	}
}

// patternError is an invalid pattern of AllowOnly.
type patternError string

// patternForms completes a sentence about an invalid pattern.
const patternForms = "an email address, @domain, id:customer, phone:+number or device:token"

func (e patternError) Error() string {
	return fmt.Sprintf("AllowOnly: pattern %q is not %s", string(e), patternForms)
}

// MaxRecipients returns the guard of [WithMaxRecipients], which refuses a send to more than n
// recipients: the customers, and the addresses that no customer has, in email, cc and bcc of
// an email broadcast, and in the payload of a trigger. Two customers are one if both their ids
// and their addresses are equal; the case of ASCII letters in an address does not matter.
// Phone numbers and devices do not count.
//
// The guard also refuses a send if the number of its recipients is unknown: a send to
// segments, a send to all customers, an address that could be read as several, and a request
// for which [Prepared.Recipients] returns an error.
func MaxRecipients(n int) func(ctx context.Context, p *Prepared) error {
	return func(_ context.Context, p *Prepared) error {
		recipients := recipientCount{customers: make(map[countedCustomer]bool), addresses: make(map[string]bool)}
		if err := p.encoded().read(recipients.add); err != nil {
			return fmt.Errorf("MaxRecipients: %w", err)
		}
		switch count := recipients.count(); {
		case count == 1 && n < 1:
			return fmt.Errorf("MaxRecipients: 1 recipient exceeds the limit of %d", n)
		case count > n:
			return fmt.Errorf("MaxRecipients: %d recipients exceed the limit of %d", count, n)
		}
		return nil
	}
}

// The objections to a field. They follow its path.
var (
	errNotAllowed      = errors.New("is not allowed")
	errNotAllowedLocal = errors.New("is not allowed: the domain matches, but the local part is not plain")
	errNotCountable    = errors.New("is not a known number of recipients")
)

// allowList is a set of patterns, with addresses and domains in lower case.
type allowList map[string]bool

// The prefixes of patterns that are not addresses.
const (
	idPattern     = "id:"
	phonePattern  = "phone:"
	devicePattern = "device:"
)

// newAllowList returns the list, and the patterns that are invalid.
func newAllowList(patterns []string) (allowed allowList, invalid []string) {
	allowed = make(allowList)
	for _, pattern := range patterns {
		switch {
		case !isPattern(pattern):
			invalid = append(invalid, pattern)
		case prefixOf(pattern) != "":
			allowed[pattern] = true
		default:
			allowed[arguments.LowerASCII(pattern)] = true
		}
	}
	return allowed, invalid
}

func isPattern(pattern string) bool {
	if prefix := prefixOf(pattern); prefix != "" {
		return len(pattern) > len(prefix)
	}
	if strings.HasPrefix(pattern, "@") {
		pattern = "anyone" + pattern
	}
	return arguments.IsEmail(pattern) && !strings.Contains(pattern, "*")
}

func prefixOf(pattern string) string {
	for _, prefix := range []string{idPattern, phonePattern, devicePattern} {
		if strings.HasPrefix(pattern, prefix) {
			return prefix
		}
	}
	return ""
}

// check returns an error if a field is not listed.
func (l allowList) check(f field) error {
	listed := false
	switch f.kind {
	case customer:
		return nil
	case email:
		return l.checkAddress(f.text)
	case customerID:
		listed = l[idPattern+f.text]
	case phone:
		listed = l[phonePattern+f.text]
	case device:
		listed = l[devicePattern+f.text]
	case everyone, segment:
	}
	if !listed {
		return errNotAllowed
	}
	return nil
}

func (l allowList) checkAddress(address string) error {
	lower := arguments.LowerASCII(address)
	local, _, _ := strings.Cut(lower, "@")
	switch inDomain := l[lower[len(local):]]; {
	case !arguments.IsEmail(address): // such as a pattern itself
		return errNotAllowed
	case l[lower], inDomain && isPlainLocal(local):
		return nil
	case inDomain:
		return errNotAllowedLocal
	}
	return errNotAllowed
}

// isPlainLocal reports whether the part of an address before the @ cannot be read as
// anything else, such as an option of a program or a path to another server.
func isPlainLocal(local string) bool {
	const longest = 64
	return local != "" && len(local) <= longest && local[0] != '-' && !strings.ContainsFunc(local, isNotPlain)
}

func isNotPlain(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._+'-", r)
}

// recipientCount counts customers, and addresses that no customer has.
type recipientCount struct {
	customers map[countedCustomer]bool
	addresses map[string]bool
	current   countedCustomer // of the fields that follow a customer
}

type countedCustomer struct{ id, email string }

// add adds a field. A customer with two ids or two addresses counts as two.
func (c *recipientCount) add(f field) error {
	switch f.kind {
	case everyone, segment:
		return errNotCountable
	case customer:
		c.finish()
	case customerID:
		if c.current.id != "" {
			c.finish()
		}
		c.current.id = f.text
	case email:
		if !arguments.IsEmail(f.text) {
			return errNotCountable
		}
		c.addAddress(arguments.LowerASCII(f.text), f.ofCustomer)
	case phone, device:
	}
	return nil
}

func (c *recipientCount) addAddress(address string, ofCustomer bool) {
	if ofCustomer && c.current.email == "" {
		c.current.email = address
		return
	}
	c.addresses[address] = true
}

// finish adds the current customer.
func (c *recipientCount) finish() {
	if c.current != (countedCustomer{}) {
		c.customers[c.current] = true
		c.current = countedCustomer{}
	}
}

func (c *recipientCount) count() int {
	c.finish()
	for known := range c.customers {
		delete(c.addresses, known.email)
	}
	return len(c.customers) + len(c.addresses)
}
