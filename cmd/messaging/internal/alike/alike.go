// Package alike finds triggers that are like each other: of the same event, for the same
// customer, and with the same values where the event requires one. How a value is written
// makes no difference.
package alike

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
)

// Token stands for a customer, by address or by id, and the values of a trigger. The event
// is not part of it, since an event that is renamed, or created again, stays the same to
// people. The zero Token stands for none.
type Token uint64

// MarshalText returns the token in hexadecimal digits, since JSON numbers are not exact.
func (t Token) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%016x", uint64(t)), nil }

// UnmarshalText is the inverse of MarshalText.
func (t *Token) UnmarshalText(text []byte) error {
	parsed, err := strconv.ParseUint(string(text), 16, 64)
	*t = Token(parsed)
	return err
}

// byID marks the token of a customer who is known by id, and unnamed one that stands for the values without
// the customer. The last two bits say which form of the values a token has: the first one, or the second.
// They make no difference to what it stands for.
const (
	byID       Token = 1 << 63
	unnamed    Token = 1 << 62
	firstForm  Token = 1
	secondForm Token = 2
	formBits         = 2
)

// isNamed reports whether a token stands for a customer.
func (t Token) isNamed() bool { return t != 0 && t&unnamed == 0 }

// is reports whether two tokens stand for the same.
func (t Token) is(other Token) bool { return t>>formBits == other>>formBits }

// mayBe reports whether two tokens are those of triggers with the same values, of which one has only the id
// of its customer and the other only an address. Nobody can tell whether they are for the same customer.
func (t Token) mayBe(other Token) bool { return t&unnamed != 0 && (t ^ byID).is(other) }

// Tokens are those of one trigger: of the address and of the id of its customer, and of
// another address if it has one, each with the first form of the values and, if that differs, with
// the second. Two triggers are alike if they have a token in common. A trigger with only an id or only
// addresses also has a token of its values alone, for each form.
type Tokens [8]Token

// Shape lists the parameters of an event whose values make triggers alike.
type Shape []Parameter

// Parameter is a parameter of an event.
type Parameter struct {
	Name string                  `json:"name"`
	Type messaging.ParameterType `json:"type"`
}

// ShapeOf returns the parameters that an event requires or, if there is none, all of them,
// in the order of their names. The members that name the customer are none of them.
func ShapeOf(event *messaging.Event) Shape {
	var required, all Shape
	for _, p := range event.Parameters {
		if p.Name == "email" || p.Name == "customer" {
			continue
		}
		all = append(all, Parameter{p.Name, p.Type})
		if p.Required {
			required = append(required, Parameter{p.Name, p.Type})
		}
	}
	shape := required
	if shape == nil {
		shape = all
	}
	slices.SortFunc(shape, func(a, b Parameter) int { return cmp.Compare(a.Name, b.Name) })
	return shape
}

// untimedText is the type of a text without the times in it.
const untimedText messaging.ParameterType = "text without times"

// Untimed returns the parameters that are not times, and the texts without the times in them.
func (s Shape) Untimed() Shape {
	untimed := slices.DeleteFunc(slices.Clone(s), func(p Parameter) bool { return p.Type == messaging.ParameterTimestamp })
	for i := range untimed {
		if untimed[i].Type == messaging.ParameterText {
			untimed[i].Type = untimedText
		}
	}
	return untimed
}

// IsPartOf reports whether an event has all of the parameters.
func (s Shape) IsPartOf(event *messaging.Event) bool {
	for _, p := range s {
		if !slices.ContainsFunc(event.Parameters, func(of messaging.EventParameter) bool { return of.Name == p.Name }) {
			return false
		}
	}
	return true
}

// Tokens returns the tokens of a trigger, which can have an address beside its customer.
func (s Shape) Tokens(email string, customer messaging.CustomerParams, values map[string]any) (tokens Tokens) {
	var first, second []byte
	for _, p := range s {
		if value := canonical(p.Type, values[p.Name]); value.first != "" {
			first, second = appendParts(first, p.Name, value.first), appendParts(second, p.Name, value.second)
		}
	}
	tokens.add(0, email, customer, first, firstForm)
	if !bytes.Equal(first, second) {
		tokens.add(len(tokens)/2, email, customer, second, secondForm)
	}
	return tokens
}

// add sets the four tokens of a form of the values.
func (t *Tokens) add(at int, email string, customer messaging.CustomerParams, content []byte, form Token) {
	address, other := Address(customer.Email), Address(email)
	if address != "" {
		t[at] = tokenOf(address, content, form)
	}
	if customer.CustomerID != "" {
		t[at+1] = tokenOf(identifier(customer.CustomerID), content, form) | byID
	}
	if other != "" && other != address {
		t[at+2] = tokenOf(other, content, form)
	}
	switch hasAddress := address != "" || other != ""; {
	case hasAddress && customer.CustomerID == "":
		t[at+3] = tokenOf("", content, form) | unnamed
	case !hasAddress && customer.CustomerID != "":
		t[at+3] = tokenOf("", content, form) | unnamed | byID
	}
}

// tokenOf hashes a customer, which is "" in an unnamed token, and the values.
func tokenOf(customer string, content []byte, form Token) Token {
	sum := sha256.Sum256(appendParts(nil, customer, string(content)))
	hash := Token(binary.BigEndian.Uint64(sum[:])) &^ (byID | unnamed)
	return hash>>formBits<<formBits | form // never the zero Token
}

// appendParts appends texts with their lengths, so that no two lists are the same bytes.
func appendParts(content []byte, texts ...string) []byte {
	for _, text := range texts {
		content = append(strconv.AppendInt(content, int64(len(text)), 10), ':')
		content = append(content, text...)
	}
	return content
}

// canonical returns the forms of a value of a parameter. They are empty if it is missing or
// blank.
func canonical(kind messaging.ParameterType, value any) forms {
	if value == nil {
		return forms{}
	}
	if at, ok := value.(time.Time); ok {
		return form(at.UTC().Format(time.DateTime))
	}
	var text string
	switch value := value.(type) {
	case string:
		text = value
	case json.Number:
		text = value.String()
	default:
		encoded, err := json.Marshal(value)
		if err != nil {
			return form(fmt.Sprint(value))
		}
		text = string(encoded)
	}
	switch kind {
	case messaging.ParameterTimestamp:
		if at, err := time.Parse(time.RFC3339, text); err == nil {
			return form(at.UTC().Format(time.DateTime))
		}
	case messaging.ParameterNumeric:
		return form(number(text))
	case untimedText:
		text = clock.ReplaceAllString(text, " ")
	}
	return formsOf(text)
}

// Address returns an address as it is compared: in lower case, without what a spreadsheet or
// a mail program writes around it, and with its domain in ASCII.
func Address(text string) string {
	text = bareAddress(text)
	name, domain, _ := strings.Cut(text, "@")
	if ascii, err := idna.ToASCII(domain); err == nil && ascii != domain {
		return name + "@" + ascii
	}
	return text
}

// bareAddress returns an address in lower case, without what is around it.
func bareAddress(text string) string {
	text = strings.Trim(foldCase(text), " \t\r\n'\"<>.,;")
	return strings.TrimPrefix(text, "mailto:")
}

// IsAddressAlone reports whether there is nothing around an address, so that the service does
// not take it for that of another customer.
func IsAddressAlone(text string) bool { return bareAddress(text) == strings.ToLower(text) }

// foldCase returns a text as it is compared without case: ß is the same as SS.
func foldCase(text string) string {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return cases.Fold().String(norm.NFKC.String(text))
		}
	}
	return strings.ToLower(text)
}

// Fold returns the letters and digits of a text, in lower case. A run of other characters
// between two digits leaves a hyphen, and leading zeros of a number go. Of a text without letters
// and digits, all that a reader can see stays.
func Fold(text string) string { return fold(text, "-") }

// fold is Fold with another text for what is between two digits.
func fold(text, between string) string {
	folded := make([]byte, 0, len(text))
	var last rune  // the last letter or digit
	apart := false // whether other characters follow it
	for _, r := range foldCase(text) {
		if !visible.LetterOrDigit(r) {
			apart = true
			continue
		}
		r = digit(r)
		if unicode.IsDigit(r) && unicode.IsDigit(last) {
			if apart && between != "" {
				folded = append(folded, between...)
			} else if last == '0' && isFirstDigit(folded) {
				folded = folded[:len(folded)-1]
			}
		}
		folded = append(folded, string(r)...)
		last, apart = r, false
	}
	if len(folded) == 0 {
		return strings.Join(strings.FieldsFunc(text, visible.Blank), "")
	}
	return string(folded)
}

// isFirstDigit reports whether the last digit of a text is the first of its number.
func isFirstDigit(text []byte) bool {
	return len(text) == 1 || text[len(text)-2] < '0' || text[len(text)-2] > '9'
}
