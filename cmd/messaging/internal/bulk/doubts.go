package bulk

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"slices"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/alike"
	"github.com/messaging-go/messaging/cmd/messaging/internal/oddity"
	"github.com/messaging-go/messaging/cmd/messaging/internal/recipients"
	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
)

// Doubts are rows that can be used, but look like a mistake.
type Doubts struct {
	// Rows is how many there are, and First what the first of them say.
	Rows  int
	First []error

	addresses, ids links // of each id, and of each address
}

// add adds what is said of a row.
func (d *Doubts) add(rows, line int, format string, args ...any) {
	if d.Rows += rows; len(d.First) < shown {
		d.First = append(d.First, fmt.Errorf("line %d: %s", line, fmt.Sprintf(format, args...)))
	}
}

// look looks at a row with a trigger of an event.
func (d *Doubts) look(l line, event *messaging.Event) {
	if text := cmp.Or(recipients.Oddity(l.customer), l.joined, oddity.Values(event, l.values)); text != "" {
		d.add(1, l.number, "%s", text)
	}
	if id, address := l.customer.CustomerID, alike.Address(l.customer.Email); id != "" && address != "" {
		d.addresses.add(id, address)
		d.ids.add(address, id)
	}
}

// compare adds what only several rows show together. unclear is a token of rows that may have the same customer,
// or 0.
func (d *Doubts) compare(ctx context.Context, f *File, unclear alike.Token) error {
	id := func(c messaging.CustomerParams) string { return c.CustomerID }
	address := func(c messaging.CustomerParams) string { return alike.Address(c.Email) }
	for _, each := range []struct {
		links       *links
		name, value func(messaging.CustomerParams) string
		says        string
	}{
		{&d.addresses, id, address, "customer_id %s has another email in line %d"},
		{&d.ids, address, id, "email %s has another customer_id in line %d"},
	} {
		names, first := each.links.several()
		each.links.buckets = nil // an import needs the memory
		if names == 0 {
			continue
		}
		value := func(l line) string {
			if l.customer.CustomerID == "" || l.customer.Email == "" || hashOf(each.name(l.customer)) != first {
				return ""
			}
			return each.value(l.customer)
		}
		err := f.firstTwo(ctx, value, func(one, two line) {
			d.add(names, two.number, each.says, visible.Quote(each.name(two.customer)), one.number)
		})
		if err != nil {
			return err
		}
	}
	if unclear == 0 {
		return nil
	}
	kind := func(l line) string {
		byAddress, byID := unclear.IsOf(l.tokens)
		switch {
		case byAddress:
			return "address"
		case byID:
			return "id"
		}
		return ""
	}
	return f.firstTwo(ctx, kind, func(one, two line) {
		d.add(1, two.number, "may have the customer of line %d: the values are the same, and one row has only an id, the other only "+
			"an address", one.number)
	})
}

// firstTwo calls found with the first two lines that have different values. A line with "" is none of them.
func (f *File) firstTwo(ctx context.Context, value func(line) string, found func(one, two line)) error {
	var first *line
	for line, err := range f.lines(ctx) {
		switch {
		case err != nil && ctx.Err() != nil:
			return err
		case err != nil || value(line) == "":
		case first == nil:
			first = &line
		case value(*first) != value(line):
			found(*first, line)
			return nil
		}
	}
	return ErrChanged
}

// links holds the values that names have, in eight bytes for each row: the first 48 bits of the
// hash of a name, and 16 of the hash of a value. Two names of a million share theirs once in 500
// files, which is a doubt without a reason.
type links struct{ buckets map[byte][]uint64 }

const valueBits = 16

var seed = maphash.MakeSeed()

func hashOf(name string) uint64 { return maphash.String(seed, name) >> valueBits }

func (l *links) add(name, value string) {
	if l.buckets == nil {
		l.buckets = make(map[byte][]uint64)
	}
	hash := hashOf(name)
	bucket := byte(hash) // small ones, so that little of them is in memory twice when they grow
	l.buckets[bucket] = append(l.buckets[bucket], hash<<valueBits|maphash.String(seed, value)&(1<<valueBits-1))
}

// several returns how many names have several values, and the hash of one of them.
func (l *links) several() (names int, first uint64) {
	for _, bucket := range l.buckets {
		slices.Sort(bucket)
		counted := false // the name of the row before
		for i := 1; i < len(bucket); i++ {
			switch same := bucket[i]>>valueBits == bucket[i-1]>>valueBits; {
			case !same:
				counted = false
			case bucket[i] != bucket[i-1] && !counted:
				names, first, counted = names+1, bucket[i]>>valueBits, true
			}
		}
	}
	return names, first
}
