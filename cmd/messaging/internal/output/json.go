package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
)

// ErrFieldsListed is returned after --json=help has printed the fields. The command has
// nothing left to do.
var ErrFieldsListed = errors.New("the fields are listed")

// The values of --json that name no fields.
const (
	allFields  = "all"
	helpFields = "help"
)

// CheckFields checks the fields of --json, or lists those that exist. Call it before
// anything is done.
func (p *Printer) CheckFields(known []string) error {
	if slices.Equal(p.fields, []string{helpFields}) {
		_, err := fmt.Fprintln(p.Out, strings.Join(known, "\n"))
		return errors.Join(err, ErrFieldsListed)
	}
	for _, field := range p.fields {
		if len(known) == 0 {
			return exit.With(exit.Usage, "--json=%s: the output of this command has no fields to choose", field)
		}
		if !slices.Contains(known, field) {
			return exit.With(exit.Usage, "--json: there is no field %q; the fields are %s", field, strings.Join(known, ", "))
		}
	}
	return nil
}

// FieldsOf returns the names of the members that sample has in JSON, in order.
func FieldsOf(sample any) (names []string) {
	data, _ := json.Marshal(sample)
	decoder := json.NewDecoder(bytes.NewReader(data))
	if brace, err := decoder.Token(); err != nil || brace != json.Delim('{') {
		return nil
	}
	for decoder.More() {
		name, _ := decoder.Token()
		names = append(names, fmt.Sprint(name))
		_ = decoder.Decode(new(json.RawMessage)) // it was just encoded
	}
	return names
}

// Object writes one object in a line, with the fields of --json alone.
func (p *Printer) Object(v any) error {
	text, err := p.Picked(v)
	if err != nil {
		return err
	}
	_, err = io.WriteString(p.Out, text+"\n")
	return err
}

// Picked returns the JSON of a value, with the fields of --json alone.
func (p *Printer) Picked(v any) (string, error) {
	text, err := encode(v)
	if p.fields == nil || err != nil {
		return text, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &members); err != nil {
		return "", err
	}
	list := make([]string, len(p.fields))
	for i, field := range p.fields {
		value, ok := members[field]
		if !ok {
			value = json.RawMessage("null")
		}
		list[i] = fmt.Sprintf("%q:%s", field, value)
	}
	return encode(json.RawMessage("{" + strings.Join(list, ",") + "}"))
}

// encode encodes v as JSON, with an escape for each hidden character. Between tokens there
// is none.
func encode(v any) (string, error) {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return "", err
	}
	return visible.EscapeJSON(strings.TrimSuffix(b.String(), "\n"), visible.Hidden), nil
}
