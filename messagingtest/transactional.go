package messagingtest

import (
	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/service"
)

var transactionalList = serveList(list[messaging.TransactionalMessage]{
	operation: service.ListTransactional,
	message:   "Transactional Messages fetched successfully",
	complete:  completeTransactional,
	row:       transactionalRow,
	clone:     cloneTransactional,
})

// AddTransactional adds transactional messages to the list of the service. A message
// without an id gets a UUID. A zero CreatedAt is set to the current time, unless Extra
// has a created_at member. The list includes the members of Extra.
func (s *Server) AddTransactional(messages ...messaging.TransactionalMessage) {
	transactionalList.add(s, messages)
}

func completeTransactional(s *Server, message *messaging.TransactionalMessage) {
	message.ID = s.idOr(message.ID)
	message.CreatedAt = timeOrNow(message.Extra, "created_at", message.CreatedAt)
}

// Transactional returns all transactional messages in the order in which they were added.
func (s *Server) Transactional() []messaging.TransactionalMessage { return transactionalList.copies(s) }

// transactionalRow returns the message as an element of a list response.
func transactionalRow(m messaging.TransactionalMessage) any {
	return withExtra(m.Extra, map[string]any{
		"id":               m.ID,
		"channel":          m.Channel,
		"subject":          m.Subject,
		"title":            m.Title,
		"message":          m.Message,
		"message_type":     m.MessageType,
		"created_at":       formatTime(m.CreatedAt, wallClockLayout),
		"total_sent":       m.TotalSent,
		"total_delivered":  m.TotalDelivered,
		"total_failed":     m.TotalFailed,
		"total_complained": m.TotalComplained,
		"total_bounced":    m.TotalBounced,
	})
}

func cloneTransactional(m messaging.TransactionalMessage) messaging.TransactionalMessage {
	m.MessageType = clonePointer(m.MessageType)
	m.Extra = cloneExtra(m.Extra)
	return m
}
