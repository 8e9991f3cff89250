package sandbox

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
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

// keys are the keys of a record, each with the kind of its value.
type keys map[string]string

// The keys of the records of a seed.
var (
	customerKeys = keys{"customer_id": "a string", "first_name": "a string", "last_name": "a string", "email": "a string",
		"phone_no": "a string", "customer_created_at": "a string", "updated_at": "a string", "providers": "a string",
		"last_interaction": "a string"}
	eventKeys     = keys{"id": "a string", "name": "a string", "description": "a string", "parameters": "an array", "created_at": "a string"}
	parameterKeys = keys{"name": "a string", "type": "a string", "required": "a boolean"}
	messageKeys   = keys{"id": "a string", "channel": "a string", "subject": "a string", "title": "a string", "message": "a string",
		"message_type": "a string", "created_at": "a string", "total_sent": "a number", "total_delivered": "a number",
		"total_failed": "a number", "total_complained": "a number", "total_bounced": "a number"}
)

// kindOf returns the kind of a JSON value.
func kindOf(raw []byte) string {
	switch raw[0] {
	case '"':
		return "a string"
	case '[':
		return "an array"
	case '{':
		return "an object"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	default:
		return "a number"
	}
}

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
				local, domain, _ := strings.Cut(c.Email, "@")
				return errors.Join(missingIf(c.CustomerID == "" && c.Email == "", "a customer_id or an email is required"),
					missingIf(c.Email != "" && (local == "" || domain == ""), "email: is not an e-mail address"))
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
func parseRecords[T any](p *seedParser, list string, known keys, records *[]T, check func(T) error) error {
	token, err := p.decoder.Token()
	switch {
	case err != nil:
		return p.errorAt(p.decoder.InputOffset(), list, err)
	case token == nil: // null is a list without records
		return nil
	case token != json.Delim('['):
		return p.errorf(list, "must be an array")
	}
	ids := make(map[string]int)
	for i := 0; p.decoder.More(); i++ {
		field := fmt.Sprintf("%s.%d", list, i)
		var raw json.RawMessage
		if err := p.decoder.Decode(&raw); err != nil {
			return p.errorAt(p.decoder.InputOffset(), field, err)
		}
		start := p.decoder.InputOffset() - int64(len(raw))
		if err := p.checkKeys(raw, start, field, known); err != nil {
			return err
		}
		var record T
		if err := json.Unmarshal(raw, &record); err != nil {
			return p.errorAt(start, field, err)
		}
		if unread := extraOf(record); len(unread) > 0 {
			return p.errorAt(start, field+"."+unread[0], errors.New("can't be read"))
		}
		if err := check(record); err != nil {
			return p.errorAt(start, field, err)
		}
		if id := idOf(record); id != "" {
			if first, taken := ids[id]; taken {
				return p.errorAt(start, field+".id", fmt.Errorf("duplicates %s.%d", list, first))
			}
			ids[id] = i
		}
		*records = append(*records, record)
	}
	return p.end(list)
}

// idOf returns the id of an event or a message.
func idOf(record any) string {
	switch record := record.(type) {
	case messaging.Event:
		return record.ID
	case messaging.TransactionalMessage:
		return record.ID
	default:
		return ""
	}
}

// extraOf returns the keys whose values a model could not read, such as a time.
func extraOf(record any) []string {
	var extra messaging.Extra
	switch record := record.(type) {
	case messaging.Customer:
		extra = record.Extra
	case messaging.Event:
		extra = record.Extra
	case messaging.TransactionalMessage:
		extra = record.Extra
	}
	return slices.Sorted(maps.Keys(extra))
}

// checkKeys refuses a record that is not an object, and a key that it can't
// have.
func (p *seedParser) checkKeys(raw []byte, start int64, field string, known keys) error {
	inner := seedParser{data: raw, decoder: json.NewDecoder(bytes.NewReader(raw))}
	if len(raw) == 0 || raw[0] != '{' {
		return p.errorAt(start, field, errors.New("must be an object"))
	}
	return inner.object("", func(key string) error {
		at, path := start+inner.decoder.InputOffset(), field+"."+key
		kind, ok := known[key]
		if !ok {
			err := fmt.Errorf("unknown key; must be one of %s", strings.Join(slices.Sorted(maps.Keys(known)), ", "))
			return p.errorAt(at, path, err)
		}
		var value json.RawMessage
		if err := inner.decoder.Decode(&value); err != nil {
			return p.errorAt(at, path, err)
		}
		at = start + inner.decoder.InputOffset() - int64(len(value))
		if got := kindOf(value); got != kind && got != "null" {
			return p.errorAt(at, path, fmt.Errorf("must be %s", kind))
		}
		if key == "parameters" {
			return p.checkParameters(value, at, path)
		}
		return nil
	})
}

// checkParameters checks the keys of each parameter of an event.
func (p *seedParser) checkParameters(raw []byte, start int64, field string) error {
	inner := json.NewDecoder(bytes.NewReader(raw))
	if _, err := inner.Token(); err != nil {
		return p.errorAt(start, field, err)
	}
	for i := 0; inner.More(); i++ {
		var parameter json.RawMessage
		if err := inner.Decode(&parameter); err != nil {
			return p.errorAt(start, field, err)
		}
		at := start + inner.InputOffset() - int64(len(parameter))
		if err := p.checkKeys(parameter, at, fmt.Sprintf("%s.%d", field, i), parameterKeys); err != nil {
			return err
		}
	}
	return nil
}
