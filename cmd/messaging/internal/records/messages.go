package records

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/internal/fake"
	"github.com/messaging-go/messaging/internal/service"
)

// Messages are the transactional messages that the service stores.
var Messages = &Kind{
	Name:   "messages",
	Origin: "Transactional messages come from the seed. The service has no operation that adds one.",
	List:   service.ListTransactional,
	Read: func(ctx context.Context, c *messaging.Client) error {
		_, err := c.Transactional.List(ctx, messaging.TransactionalListParams{})
		return err
	},
	parse: parseMessage,
	stored: func(s *fake.Server) []Value {
		rows := s.Transactional()
		messages := make([]message, len(rows))
		for i, row := range rows {
			messages[i] = through[message](row)
		}
		return values(messages, func(m *message) Value { return m })
	},
	add:   func(s *fake.Server, v Value) { s.AddTransactional(through[fake.Extra](v)) },
	idKey: "id",
}

func parseMessage(raw json.RawMessage) (Value, error) {
	var m message
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, err
	}
	switch {
	case len(m.Extra) > 0:
		return nil, unreadable(m.Extra)
	case m.Channel == "":
		return nil, errors.New("a channel is required")
	}
	return &m, nil
}

type message struct{ messaging.TransactionalMessage }

func (m *message) ID() string  { return m.TransactionalMessage.ID }
func (m *message) Model() any  { return m.TransactionalMessage }
func (m *message) number() int { return 0 }

func (m *message) Line() Line {
	return Line{cmp.Or(m.Subject, m.Title, "(no subject)"), string(m.Channel), words.Thousands(m.TotalSent) + " sent"}
}

func (m *message) Texts() []string {
	return []string{m.ID(), string(m.Channel), m.Subject, m.Title, m.Message}
}

// through converts a record, both of whose forms have the same JSON.
func through[T any](from any) (to T) {
	data, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(data, &to)
	}
	if err != nil {
		panic(err) // a record was read from JSON
	}
	return to
}
