package messagingtest

import "github.com/messaging-go/messaging"

// AddTransactional adds transactional messages to the list of the service. A
// message without an id gets a UUID. A zero CreatedAt is set to the current
// time, unless Extra has a created_at member. The members of Extra are listed
// too.
func (s *Server) AddTransactional(messages ...messaging.TransactionalMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range messages {
		if m.ID == "" {
			m.ID = s.newID()
		}
		m.CreatedAt = timeOrNow(m.Extra, "created_at", m.CreatedAt)
		s.transactional = append(s.transactional, cloneTransactional(m))
	}
}

// Transactional returns all transactional messages in the order in which they
// were added.
func (s *Server) Transactional() []messaging.TransactionalMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return cloneSlice(s.transactional, cloneTransactional)
}

func (s *Server) listTransactional(in input) response {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows, meta := page(in, "transactional", len(s.transactional), selectAll, func(i int) any {
		return transactionalRow(s.transactional[i])
	})
	if len(in.problems) > 0 {
		return invalidResponse(in.problems)
	}
	return listResponse("Transactional Messages fetched successfully", rows, meta)
}

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
