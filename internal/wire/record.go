package wire

import (
	"encoding/json"
	"errors"
	"slices"
	"time"
)

// Record reads the members of a record of a list. A member that does not fit its field is
// kept in Extra, and the field is then zero. So one odd member does not end a list.
type Record struct {
	*Reader
	// Extra is where the record keeps these members, and those that it has no field for.
	Extra *map[string]json.RawMessage
}

// Text reads a string or a number.
func (r Record) Text(key []byte, target *string) error {
	*target = ""
	if kind := r.Kind(); kind != String && kind != Number && kind != Null {
		return r.Keep(key)
	}
	r.drop(key)
	return r.String(target)
}

// Integer reads an integer in any notation: 20, "20", 20.0, 2e1.
func (r Record) Integer(key []byte, target *int) error {
	*target = 0
	raw, err := r.raw()
	if err != nil {
		return err
	}
	text := raw
	if raw[0] == '"' {
		text = raw[1 : len(raw)-1]
	}
	var ok bool
	if *target, ok = parseInteger(string(text)); ok || string(raw) == "null" {
		r.drop(key)
		return nil
	}
	return r.add(key, raw)
}

// Time reads a timestamp.
func (r Record) Time(key []byte, target *time.Time) error {
	*target = time.Time{}
	switch r.Kind() {
	case String:
	case Null:
		r.drop(key)
		return r.Skip()
	default:
		return r.Keep(key)
	}
	text, err := r.json.StrBytes()
	if err != nil {
		return errSyntax
	}
	var ok bool
	if *target, ok = parseTime(text); ok {
		r.drop(key)
		return nil
	}
	raw, err := json.Marshal(string(text))
	if err != nil {
		return err
	}
	return r.add(key, raw)
}

// Names reads a list of names from a comma-separated string, or from an array.
func (r Record) Names(key []byte, target *[]string) error {
	*target = nil
	if r.Kind() == String {
		r.drop(key)
		return r.namesIn(target)
	}
	return r.Whole(key, func() error {
		if r.Kind() != Array {
			return r.namesIn(target)
		}
		return r.Array(func(int) error {
			var names []string
			err := r.namesIn(&names)
			*target = append(*target, names...)
			return err
		})
	}, func() { *target = nil })
}

// Whole reads a member with a function. If the function returns an error, the whole member
// is kept, and clear is called.
func (r Record) Whole(key []byte, read func() error, clear func()) error {
	raw, err := r.raw()
	if err != nil {
		return err
	}
	rest := r.json
	r.json.ResetBytes(raw)
	err = read()
	r.json = rest
	switch {
	case err == nil:
		r.drop(key)
		return nil
	case errors.Is(err, ErrTooLarge):
		return err
	}
	clear()
	return r.add(key, raw)
}

// Keep keeps a member as it is.
func (r Record) Keep(key []byte) error {
	raw, err := r.raw()
	if err != nil {
		return err
	}
	return r.add(key, raw)
}

func (r Record) add(key, raw []byte) error {
	if err := r.Count(); err != nil {
		return err
	}
	if *r.Extra == nil {
		*r.Extra = make(map[string]json.RawMessage)
	}
	(*r.Extra)[string(key)] = slices.Clone(raw)
	return nil
}

// drop removes what an earlier duplicate of a member may have left in Extra.
func (r Record) drop(key []byte) {
	if len(*r.Extra) == 0 {
		return
	}
	if delete(*r.Extra, string(key)); len(*r.Extra) == 0 {
		*r.Extra = nil
	}
}
