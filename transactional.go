package messaging

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/messaging-go/messaging/internal/service"
	"github.com/messaging-go/messaging/internal/wire"
)

// TransactionalService lists transactional messages; see [Client.Transactional].
type TransactionalService resource

// List returns one page of transactional messages. [TransactionalService.All]
// ranges over all of them.
//
// API: GET /v1/messaging/transactional
func (s *TransactionalService) List(ctx context.Context, p TransactionalListParams,
	opts ...RequestOption) (*Page[TransactionalMessage], error) {
	return s.list(p, opts).page(ctx)
}

// Pages ranges over the pages of transactional messages, starting at p.Cursor.
//
// API: GET /v1/messaging/transactional
func (s *TransactionalService) Pages(ctx context.Context, p TransactionalListParams,
	opts ...RequestOption) iter.Seq2[*Page[TransactionalMessage], error] {
	return s.list(p, opts).pages(ctx, false)
}

// All ranges over every transactional message, starting at p.Cursor. The package
// documentation says what a range promises.
//
// API: GET /v1/messaging/transactional
func (s *TransactionalService) All(ctx context.Context, p TransactionalListParams,
	opts ...RequestOption) iter.Seq2[TransactionalMessage, error] {
	return s.list(p, opts).all(ctx)
}

func (s *TransactionalService) list(p TransactionalListParams, opts []RequestOption) list[TransactionalMessage, *TransactionalMessage] {
	return list[TransactionalMessage, *TransactionalMessage]{s.core, service.ListTransactional,
		listQuery{PerPage: p.PerPage, Cursor: p.Cursor}, opts}
}

// TransactionalListParams selects transactional messages. Its fields are like those of
// [CustomerListParams].
type TransactionalListParams struct {
	PerPage int
	Cursor  string
}

// TransactionalMessage is a transactional message with its delivery counts.
type TransactionalMessage struct {
	ID      string  `json:"id"`
	Channel Channel `json:"channel"`
	// Subject is empty for SMS and WhatsApp.
	Subject string `json:"subject"`
	Title   string `json:"title"`
	Message string `json:"message"`
	// MessageType is "" if the service sends null, as it does for every message that was seen.
	MessageType string `json:"message_type"`
	// CreatedAt has no time zone on the wire and is read as UTC.
	CreatedAt       time.Time `json:"created_at"`
	TotalSent       int       `json:"total_sent"`
	TotalDelivered  int       `json:"total_delivered"`
	TotalFailed     int       `json:"total_failed"`
	TotalComplained int       `json:"total_complained"`
	TotalBounced    int       `json:"total_bounced"`
	// Extra is like that of a [Customer].
	Extra map[string]json.RawMessage `json:"-"`
}

func (m *TransactionalMessage) decode(r *wire.Reader) error {
	record := wire.Record{Reader: r, Extra: &m.Extra}
	return r.Object(func(key []byte) error {
		switch string(key) {
		case "id":
			return record.Text(key, &m.ID)
		case "channel":
			return record.Text(key, (*string)(&m.Channel))
		case "subject":
			return record.Text(key, &m.Subject)
		case "title":
			return record.Text(key, &m.Title)
		case "message":
			return record.Text(key, &m.Message)
		case "message_type":
			return record.Text(key, &m.MessageType)
		case "created_at":
			return record.Time(key, &m.CreatedAt)
		case "total_sent":
			return record.Integer(key, &m.TotalSent)
		case "total_delivered":
			return record.Integer(key, &m.TotalDelivered)
		case "total_failed":
			return record.Integer(key, &m.TotalFailed)
		case "total_complained":
			return record.Integer(key, &m.TotalComplained)
		case "total_bounced":
			return record.Integer(key, &m.TotalBounced)
		default:
			return record.Keep(key)
		}
	})
}

// MarshalJSON writes the wire form of the message, including Extra. An empty MessageType is
// null.
func (m TransactionalMessage) MarshalJSON() ([]byte, error) {
	type fields TransactionalMessage
	var messageType *string
	if m.MessageType != "" {
		messageType = &m.MessageType
	}
	return marshalModel(struct {
		fields
		MessageType *string `json:"message_type"`
		CreatedAt   string  `json:"created_at,omitempty"`
	}{fields(m), messageType, wire.FormatTime(m.CreatedAt, wire.LocalForm)}, m.Extra)
}

// UnmarshalJSON reads what the service sends and what MarshalJSON writes.
func (m *TransactionalMessage) UnmarshalJSON(data []byte) error { return unmarshalModel(data, m) }
