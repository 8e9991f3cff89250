package history

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/messaging-go/messaging/internal/fake"
)

// Audience is whom a request names, even if it was not carried out.
type Audience struct {
	// Names are the addresses of the first customers, or else what else names them.
	Names []string
	// Named is how many customers there are. Those of a segment are not known.
	Named int
	// Everyone reports whether a broadcast is for all customers.
	Everyone bool
	// Segments are the first segments of a broadcast, and SegmentCount is how many there are.
	Segments     []string
	SegmentCount int
}

// How many names of customers and of segments an entry keeps.
const maxNames, maxSegments = 5, 20

// add adds a customer. One without a name is only counted.
func (a *Audience) add(name string) {
	if a.Named++; name != "" && len(a.Names) < maxNames {
		a.Names = append(a.Names, clip(name))
	}
}

func audienceOf(everyone bool, recipients []fake.Recipient) Audience {
	a := Audience{Everyone: everyone}
	for _, r := range recipients {
		for i := range r.Customers {
			a.add(nameOf(&r.Customers[i]))
		}
		a.SegmentCount += len(r.Segments)
		for _, segment := range r.Segments[:min(len(r.Segments), maxSegments-len(a.Segments))] {
			a.Segments = append(a.Segments, clip(segment))
		}
	}
	return a
}

// nameOf returns the address of a customer, or else what else names it.
func nameOf(c *fake.CustomerParams) string {
	if c == nil {
		return ""
	}
	return cmp.Or(c.Email, c.CustomerID, c.PhoneNo)
}

// maxClip is how many bytes an entry keeps of a text that its body has whole.
const maxClip = 500

// clip returns the beginning of a text, without a part of a character.
func clip(text string) string {
	if len(text) <= maxClip {
		return text
	}
	return strings.ToValidUTF8(strings.Clone(text[:maxClip]), "")
}

// readRecipients reads recipients as far as they have the type. A single one can be sent without an array.
func readRecipients(sent json.RawMessage) []fake.Recipient {
	if len(sent) > 0 && sent[0] == '{' {
		return []fake.Recipient{read[fake.Recipient](sent)}
	}
	return read[[]fake.Recipient](sent)
}

// read decodes a value as far as it has the type.
func read[T any](value json.RawMessage) (decoded T) {
	_ = json.Unmarshal(value, &decoded) // the rest is left out
	return decoded
}
