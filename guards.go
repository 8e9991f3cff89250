package messaging

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/messaging-go/messaging/internal/arguments"
)

// AllowOnly returns a guard for [WithGuard] that refuses every send that could reach
// anyone not listed, so that a test system cannot email anyone else. [WithAllowOnly] is
// the same guard as an option. A pattern is
//
//   - "qa@acme.test", an email address,
//   - "@acme.test", the addresses in a domain, but not in its subdomains, or
//   - "id:qa-7", the customer with that customer id.
//
// ASCII letters in addresses match regardless of case, and everything else must match
// exactly: a domain and its punycode form are different domains. Every address in a send
// must be listed, even the address of a customer whose id is listed.
//
// Mail software can find a second address in the part of an address before the @. Therefore
// a domain pattern matches an address only if that part has 1 to 64 characters, all of them
// ASCII letters, digits or one of . _ + - ', does not start with "-", and contains no "+"
// after which UTF-7 would hide text, as in "kate+ADMIN". Tags such as "qa+order-4711" do
// match. List any other address itself, such as "a&b@acme.test".
//
// The guard refuses sends to segments, sends to all customers, and requests for
// which [Prepared.Recipients] returns an error. It also refuses a customer with an unlisted id, a
// phone number or a device, since the service may use these to reach or overwrite another
// customer; a customer whose name contains an unlisted address; and a stored request in
// which the subject, a name, the sender or a reply-to address contains a line break or a
// NUL, which can end the header of an email. A send that addresses nobody, such as the
// creation of an event, passes.
//
// The error names the first field that is not allowed, and never quotes an address. If a
// pattern is invalid, the guard refuses every send, and the error names the pattern.
func AllowOnly(patterns ...string) func(ctx context.Context, p *Prepared) error {
	allowed, invalid := newAllowList(patterns)
	return func(_ context.Context, p *Prepared) error {
		if len(invalid) > 0 {
			return patternError(invalid[0])
		}
		return refuse("AllowOnly", p, allowed.objection)
	}
}

// patternError is an invalid pattern of AllowOnly.
type patternError string

func (e patternError) Error() string {
	return fmt.Sprintf("AllowOnly: pattern %q is not an email address, @domain or id:customer", string(e))
}

// MaxRecipients returns a guard for [WithGuard] that refuses a send to more than n
// recipients. The recipients are the customers, and the addresses outside of customers: in
// email, cc and bcc of an email broadcast, and in the payload of a trigger, even next to a
// customer. A member that occurs twice in a stored request counts twice.
//
// The guard also refuses a send if the number of its recipients is unknown: a send to
// segments, a send to all customers, a request for which [Prepared.Recipients] returns an
// error, and a send with a value that may stand for several recipients. Such a value is a customer id,
// phone number or address that contains a comma, a semicolon, white space or a control
// character, or an address with a second @ or an encoded word. Like [AllowOnly], the guard
// refuses a stored request in which text for the header of an email contains a line break
// or a NUL.
//
// The error names the first such field, and never quotes its value.
func MaxRecipients(n int) func(ctx context.Context, p *Prepared) error {
	return func(_ context.Context, p *Prepared) error {
		var recipients recipientCount
		err := refuse("MaxRecipients", p, func(f field) string {
			recipients.add(f)
			return uncountable(f)
		})
		switch count := recipients.n; {
		case err != nil:
			return err
		case count == 1 && n < 1:
			return fmt.Errorf("MaxRecipients: 1 recipient exceeds the limit of %d", n)
		case count > n:
			return fmt.Errorf("MaxRecipients: %d recipients exceed the limit of %d", count, n)
		}
		return nil
	}
}

// refuse returns an error if a guard has an objection to a field of p. An objection is what
// follows "is" in the error, or "" if there is none. The error names the first field and
// the number of the others. Its path is found in a second pass, so that it costs nothing
// if there is no objection.
func refuse(guard string, p *Prepared, objection func(field) string) error {
	var first string
	count := 0
	request := p.request()
	err := request.walk(func(f field) error {
		if found := objection(f); found != "" {
			if count++; count == 1 {
				first = found
			}
		}
		return nil
	})
	if err == nil && count > 0 {
		refusal := errors.New(refusalText(count, first))
		err = request.walk(func(f field) error {
			if objection(f) == "" {
				return nil
			}
			return refusal
		})
	}
	if err != nil {
		return fmt.Errorf("%s: %w", guard, err)
	}
	return nil
}

// refusalText returns what follows the path of the first field.
func refusalText(count int, objection string) string {
	switch count {
	case 1:
		return "is " + objection
	case 2:
		return "and 1 other field are " + objection
	default:
		return fmt.Sprintf("and %d other fields are %s", count-1, objection)
	}
}

// The objections to a field.
const (
	notAllowed      = "not allowed"
	notAllowedLocal = "not allowed: the domain matches, but the local part could hide another address"
	notAllowedName  = "not allowed: a name could be read as an address"
	notAllowedBreak = "not allowed: a line break or NUL could end the header of an email"
	notCountable    = "not a known number of recipients"
)

// allowList is a set of patterns, with addresses and domains in lower case.
type allowList map[string]bool

const idPattern = "id:"

// newAllowList returns the list, and the patterns that are invalid.
func newAllowList(patterns []string) (allowed allowList, invalid []string) {
	allowed = make(allowList)
	for _, pattern := range patterns {
		switch {
		case !isPattern(pattern):
			invalid = append(invalid, pattern)
		case strings.HasPrefix(pattern, idPattern):
			allowed[pattern] = true
		default:
			allowed[arguments.LowerASCII(pattern)] = true
		}
	}
	return allowed, invalid
}

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

func (l allowList) objection(f field) string {
	switch f.kind {
	case customer:
		return ""
	case customerID:
		if l[idPattern+f.text] {
			return ""
		}
	case customerEmail, otherEmail:
		return l.objectionTo(f.text)
	case customerName:
		if holdsAddress(f.text) && l.objectionTo(f.text) != "" {
			return notAllowedName
		}
		return headerObjection(f.text)
	case header:
		return headerObjection(f.text)
	case everyone, segment, phone, device:
	}
	return notAllowed
}

// objectionTo checks an address. For a domain pattern, the local part is checked as it is
// written, and in lower case, as a mail server may read it.
func (l allowList) objectionTo(address string) string {
	lower := arguments.LowerASCII(address)
	local, _, _ := strings.Cut(address, "@")
	inDomain := l[lower[len(local):]]
	switch {
	case inDomain && isPlainLocal(local) && isPlainLocal(lower[:len(local)]):
		return ""
	case l[lower] && isOneAddress(address): // and not a pattern itself
		return ""
	case inDomain:
		return notAllowedLocal
	}
	return notAllowed
}

// isOneAddress reports whether text can only be read as a single address without a display
// name.
func isOneAddress(text string) bool {
	return arguments.LooksLikeEmail(text) && !strings.ContainsAny(text, `,;:<>()[]"\`)
}

const maxLocal = 64

// isPlainLocal reports whether the part of an address before the @ cannot be read as
// anything else: as an option of a program, as a path to another server, or, by software
// that decodes it, as an address in another domain.
func isPlainLocal(local string) bool {
	return local != "" && len(local) <= maxLocal && local[0] != '-' &&
		!strings.ContainsFunc(local, isNotPlain) && !hidesText(local)
}

func isNotPlain(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._+-'", r)
}

// holdsAddress reports whether software that decodes text could find an address in it.
func holdsAddress(text string) bool {
	return strings.ContainsRune(text, '@') || strings.ContainsRune(text, '\uFE6B') || strings.ContainsRune(text, '\uFF20') ||
		strings.Contains(text, "=?") || hidesText(text)
}

// hidesText reports whether text could be UTF-7 that hides ASCII, or characters that are
// ignored or are normalized to ASCII. UTF-7 is base64 after a "+". Every "+" is checked,
// because software can differ in where the base64 before it ends.
func hidesText(text string) bool {
	for {
		_, rest, found := strings.Cut(text, "+")
		if !found {
			return false
		}
		if startsWithHidden(rest) {
			return true
		}
		text = rest
	}
}

const base64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// startsWithHidden decodes the base64 at the beginning of text. Bits that do not complete
// a UTF-16 unit are ignored.
func startsWithHidden(text string) bool {
	var value uint32
	bits := 0
	for i := range len(text) {
		digit := strings.IndexByte(base64Digits, text[i])
		if digit < 0 {
			return false
		}
		value = value<<6 | uint32(digit)
		if bits += 6; bits < 16 {
			continue
		}
		bits -= 16
		if isHidden(uint16(value >> bits)) {
			return true
		}
	}
	return false
}

// isHidden reports whether a UTF-16 unit is ASCII, or could become ASCII or be ignored:
// punctuation, variation selectors, and the forms of U+FE00 and above.
func isHidden(unit uint16) bool {
	return unit < 0x80 || unit >= 0x2000 && unit <= 0x206F || unit >= 0xFE00 && unit <= 0xFEFF || unit >= 0xFF00
}

// headerObjection checks text that becomes part of the header of an email, in which a line
// break can begin another list of recipients.
func headerObjection(text string) string {
	if strings.IndexByte(text, '\n') >= 0 || strings.IndexByte(text, '\r') >= 0 || strings.IndexByte(text, 0) >= 0 {
		return notAllowedBreak
	}
	return ""
}

// uncountable is the objection to a field that may stand for several recipients.
func uncountable(f field) string {
	several := false
	switch f.kind {
	case everyone, segment:
		several = true
	case customerID, phone:
		several = isList(f.text)
	case customerEmail, otherEmail:
		several = isList(f.text) || strings.Count(f.text, "@") > 1 || strings.Contains(f.text, "=?")
	case customerName, header:
		return headerObjection(f.text)
	case customer, device:
	}
	if several {
		return notCountable
	}
	return ""
}

// isList reports whether text can be read as several values.
func isList(text string) bool { return strings.ContainsFunc(text, isSeparator) }

func isSeparator(r rune) bool {
	if r > ' ' && r <= '~' { // mostly, so that it is fast
		return r == ',' || r == ';'
	}
	return unicode.IsSpace(r) || unicode.IsControl(r)
}

// recipientCount counts customers, and addresses outside of them.
type recipientCount struct {
	n          int
	inCustomer [header + 1]int // fields of the current customer by their kind
}

// add counts a customer with its first id, address and phone number as one recipient, and
// every further one as another recipient.
func (c *recipientCount) add(f field) {
	switch f.kind {
	case customer:
		c.n++
		clear(c.inCustomer[:])
	case otherEmail:
		c.n++
	case customerID, customerEmail, phone:
		if c.inCustomer[f.kind]++; c.inCustomer[f.kind] > 1 {
			c.n++
		}
	case everyone, segment, customerName, device, header:
	}
}
