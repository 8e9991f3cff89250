package sandbox

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/messaging-go/messaging"
)

// Seed is what the service stores, in the form of its list responses.
type Seed struct {
	Customers []messaging.Customer             `json:"customers"`
	Events    []messaging.Event                `json:"events"`
	Messages  []messaging.TransactionalMessage `json:"messages"`
}

// Demo returns the built-in seed.
func Demo() Seed {
	seed, err := ParseSeed(demo)
	if err != nil {
		panic(err) // the file is embedded, and tested
	}
	return seed
}

//go:embed demo.json
var demo []byte

// The keys of the records of a seed.
var (
	customerKeys = []string{"customer_id", "first_name", "last_name", "email", "phone_no", "customer_created_at", "updated_at", "providers",
		"last_interaction"}
	eventKeys   = []string{"id", "name", "description", "parameters", "created_at"}
	messageKeys = []string{"id", "channel", "subject", "title", "message", "message_type", "created_at", "total_sent", "total_delivered",
		"total_failed", "total_complained", "total_bounced"}
)

// SeedError is why a seed can't be read.
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

// ParseSeed parses a seed. Its errors are *[SeedError].
func ParseSeed(data []byte) (Seed, error) {
	var seed Seed
	p := seedParser{data: data, decoder: json.NewDecoder(bytes.NewReader(data))}
	err := p.object("", func(key string) error {
		switch key {
		case "customers":
			return parseRecords(&p, key, customerKeys, &seed.Customers, func(c messaging.Customer) error {
				return missingIf(c.CustomerID == "" && c.Email == "", "a customer_id or an email is required")
			})
		case "events":
			return parseRecords(&p, key, eventKeys, &seed.Events, func(e messaging.Event) error {
				nameless := slices.ContainsFunc(e.Parameters, func(p messaging.EventParameter) bool { return p.Name == "" || p.Type == "" })
				return errors.Join(missingIf(e.Name == "", "a name is required"),
					missingIf(nameless, "a parameter needs a name and a type"))
			})
		case "messages":
			return parseRecords(&p, key, messageKeys, &seed.Messages, func(m messaging.TransactionalMessage) error {
				return missingIf(m.Channel == "", "a channel is required")
			})
		default:
			return p.errorf(key, "unknown key; must be customers, events or messages")
		}
	})
	if err == nil {
		if _, trailing := p.decoder.Token(); !errors.Is(trailing, io.EOF) {
			err = p.errorf("", "more text after the object")
		}
	}
	if err != nil {
		return Seed{}, err
	}
	return seed, nil
}

func missingIf(missing bool, text string) error {
	if missing {
		return errors.New(text)
	}
	return nil
}

// seedParser parses a seed token by token, to know the line of each error.
type seedParser struct {
	data    []byte
	decoder *json.Decoder
}

// errorf returns an error at the token that was read last.
func (p *seedParser) errorf(field, format string, args ...any) error {
	return p.errorAt(p.decoder.InputOffset(), field, fmt.Errorf(format, args...))
}

func (p *seedParser) errorAt(offset int64, field string, err error) error {
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
func (p *seedParser) object(field string, member func(key string) error) error {
	if err := p.expect(field, '{', "an object"); err != nil {
		return err
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

func (p *seedParser) expect(field string, delimiter json.Delim, kind string) error {
	token, err := p.decoder.Token()
	if err != nil {
		return p.errorAt(p.decoder.InputOffset(), field, err)
	}
	if token != delimiter {
		return p.errorf(field, "must be %s", kind)
	}
	return nil
}

func (p *seedParser) end(field string) error {
	if _, err := p.decoder.Token(); err != nil {
		return p.errorAt(p.decoder.InputOffset(), field, err)
	}
	return nil
}

// parseRecords reads an array of records.
func parseRecords[T any](p *seedParser, list string, keys []string, records *[]T, check func(T) error) error {
	token, err := p.decoder.Token()
	switch {
	case err != nil:
		return p.errorAt(p.decoder.InputOffset(), list, err)
	case token == nil: // null is a list without records
		return nil
	case token != json.Delim('['):
		return p.errorf(list, "must be an array")
	}
	for i := 0; p.decoder.More(); i++ {
		field := fmt.Sprintf("%s.%d", list, i)
		var raw json.RawMessage
		if err := p.decoder.Decode(&raw); err != nil {
			return p.errorAt(p.decoder.InputOffset(), field, err)
		}
		start := p.decoder.InputOffset() - int64(len(raw))
		if err := p.checkKeys(raw, start, field, keys); err != nil {
			return err
		}
		var record T
		if err := json.Unmarshal(raw, &record); err != nil {
			return p.errorAt(start, field, err)
		}
		if err := check(record); err != nil {
			return p.errorAt(start, field, err)
		}
		*records = append(*records, record)
	}
	return p.end(list)
}

// checkKeys refuses a record that is not an object, and a key that it can't
// have.
func (p *seedParser) checkKeys(raw []byte, start int64, field string, keys []string) error {
	inner := seedParser{data: raw, decoder: json.NewDecoder(bytes.NewReader(raw))}
	if len(raw) == 0 || raw[0] != '{' {
		return p.errorAt(start, field, errors.New("must be an object"))
	}
	return inner.object("", func(key string) error {
		if !slices.Contains(keys, key) {
			err := fmt.Errorf("unknown key; must be one of %s", strings.Join(keys, ", "))
			return p.errorAt(start+inner.decoder.InputOffset(), field+"."+key, err)
		}
		var skipped json.RawMessage
		return inner.decoder.Decode(&skipped)
	})
}
