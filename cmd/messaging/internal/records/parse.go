package records

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// SeedError reports why a seed cannot be read.
type SeedError struct {
	Line  int
	Field string // such as customers.3.email; "" if the JSON is malformed
	Err   error
}

// Error returns the line, the field and the reason.
func (e *SeedError) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("line %d: %v", e.Line, e.Err)
	}
	return fmt.Sprintf("line %d: %s: %v", e.Line, e.Field, e.Err)
}

func (e *SeedError) Unwrap() error { return e.Err }

var errTwice = errors.New("the key occurs twice")

// ParseSeed parses a seed. Its errors are *[SeedError].
func ParseSeed(data []byte) (Seed, error) {
	seed := make(Seed)
	p := newParser(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))) // a byte order mark
	seen := make(map[string]bool)
	err := p.object("", func(key string) error {
		if seen[key] {
			return p.errorf(key, "%w", errTwice)
		}
		seen[key] = true
		for _, k := range Kinds {
			if k.Name == key {
				return p.records(k, func(v Value) { seed[k] = append(seed[k], v) })
			}
		}
		return p.errorf(key, "unknown key; must be %s", Names("or"))
	})
	if err == nil {
		if _, trailing := p.decoder.Token(); !errors.Is(trailing, io.EOF) {
			err = p.errorf("", "more text after the object")
		}
	}
	if err != nil {
		return nil, err
	}
	return seed, nil
}

// records reads an array of records.
func (p *parser) records(k *Kind, add func(Value)) error {
	token, err := p.decoder.Token()
	switch {
	case err != nil:
		return p.errorAt(p.decoder.InputOffset(), k.Name, err)
	case token == nil: // null is a list without records
		return nil
	case token != json.Delim('['):
		return p.errorf(k.Name, "must be an array")
	}
	ids := make(map[string]int)
	for i := 0; p.decoder.More(); i++ {
		field := fmt.Sprintf("%s.%d", k.Name, i)
		record, start, err := p.record(k, field)
		if err != nil {
			return err
		}
		if id := record.ID(); id != "" {
			if first, taken := ids[id]; taken {
				return p.errorAt(start, field+"."+k.idKey, fmt.Errorf("duplicates %s.%d", k.Name, first))
			}
			ids[id] = i
		}
		add(record)
	}
	return p.end(k.Name)
}

// record reads a record, and returns it with its offset.
func (p *parser) record(k *Kind, field string) (record Value, start int64, err error) {
	var raw json.RawMessage
	if err := p.decoder.Decode(&raw); err != nil {
		return nil, 0, p.errorAt(p.decoder.InputOffset(), field, err)
	}
	start = p.decoder.InputOffset() - int64(len(raw))
	if err := p.checkKeys(raw, start, field, k.keys); err != nil {
		return nil, 0, err
	}
	record, unread, err := k.parse(raw)
	if len(unread) > 0 {
		field, err = field+"."+unread[0], errors.New("cannot be read")
	}
	if err != nil {
		return nil, 0, p.errorAt(start, field, err)
	}
	return record, start, nil
}

// parser parses a seed token by token, to know the line of each error.
type parser struct {
	data    []byte
	decoder *json.Decoder
}

func newParser(data []byte) *parser {
	return &parser{data, json.NewDecoder(bytes.NewReader(data))}
}

// errorf returns an error at the token that was read last.
func (p *parser) errorf(field, format string, args ...any) error {
	return p.errorAt(p.decoder.InputOffset(), field, fmt.Errorf(format, args...))
}

func (p *parser) errorAt(offset int64, field string, err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		offset, field = syntax.Offset, ""
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		offset, field, err = int64(len(p.data)), "", errors.New("the JSON ends early")
	}
	before := p.data[:min(max(0, offset), int64(len(p.data)))]
	return &SeedError{1 + bytes.Count(before, []byte("\n")), field, err}
}

// object reads an object, and calls member after each key.
func (p *parser) object(field string, member func(key string) error) error {
	token, err := p.decoder.Token()
	if err != nil {
		return p.errorAt(p.decoder.InputOffset(), field, err)
	}
	if token != json.Delim('{') {
		return p.errorf(field, "must be an object")
	}
	for p.decoder.More() {
		key, err := p.decoder.Token()
		if err != nil {
			return p.errorAt(p.decoder.InputOffset(), field, err)
		}
		if err := member(key.(string)); err != nil {
			return err
		}
	}
	return p.end(field)
}

// end reads the end of an object or an array.
func (p *parser) end(field string) error {
	if _, err := p.decoder.Token(); err != nil {
		return p.errorAt(p.decoder.InputOffset(), field, err)
	}
	return nil
}
