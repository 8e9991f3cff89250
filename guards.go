package messaging

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/messaging-go/messaging/internal/arguments"
	"github.com/messaging-go/messaging/internal/service"
)

// Guard decides whether a send may begin; see [WithGuard]. If it returns an error, nothing is
// sent. It must be safe for concurrent use.
type Guard func(ctx context.Context, p *Prepared) error

// patternForms completes a sentence about an invalid pattern.
const patternForms = "an email address, @domain, id:customer, phone:+number or device:token"

// guard refuses every send that could reach anyone who is not listed.
func (l allowList) guard(_ context.Context, p *Prepared) error {
	request := p.encoded()
	fields, err := request.addressed()
	for n := 0; err == nil && n < len(fields); n++ {
		if problem := l.check(fields[n]); problem != nil {
			err = request.objection(n, problem)
		}
	}
	if err != nil {
		return fmt.Errorf("WithAllowOnly: %w", err)
	}
	return nil
}

// maxRecipients returns the guard of [WithMaxRecipients].
func maxRecipients(limit int) Guard {
	return func(_ context.Context, p *Prepared) error {
		request := p.encoded()
		fields, err := request.addressed()
		if n := slices.IndexFunc(fields, field.isNotCountable); err == nil && n >= 0 {
			err = request.objection(n, errNotCountable)
		}
		if err != nil {
			return fmt.Errorf("WithMaxRecipients: %w", err)
		}
		if count := count(fields); count > limit {
			return fmt.Errorf("WithMaxRecipients: %d recipients exceed the limit of %d", count, limit)
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

// newAllowList returns the list of valid patterns.
func newAllowList(patterns []string) allowList {
	allowed := make(allowList)
	for _, pattern := range patterns {
		if prefixOf(pattern) == "" {
			pattern = arguments.LowerASCII(pattern)
		}
		allowed[pattern] = true
	}
	return allowed
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
	switch f.role {
	case oneCustomer:
		return nil
	case service.CustomerEmail, service.Address, service.CopyAddress:
		return l.checkAddress(f.text)
	case service.CustomerID:
		listed = l[idPattern+f.text]
	case service.Phone:
		listed = l[phonePattern+f.text]
	case service.DeviceToken:
		listed = l[devicePattern+f.text]
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
