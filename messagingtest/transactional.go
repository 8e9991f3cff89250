package messagingtest

import "github.com/messaging-go/messaging"

// AddTransactional adds transactional messages to those that the service lists.
// One without an id gets a uuid, and one without a time of creation the present.
// Members of Extra are listed too, and stand in for a time that is missing.
func (s *Server) AddTransactional(messages ...messaging.TransactionalMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range messages {
		if m.ID == "" {
			m.ID = s.newID()
		}
		m.CreatedAt = presentUnless(m.Extra, "created_at", m.CreatedAt)
		m.MessageType = copiedPointer(m.MessageType)
		m.Extra = copiedExtra(m.Extra)
		s.transactional = append(s.transactional, m)
	}
}

func (s *Server) listTransactional(in received) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows, meta := page(in, "transactional", len(s.transactional), everyone, func(i int) any {
		return transactionalRow(s.transactional[i])
	})
	if len(in.problems) > 0 {
		return invalid(in.problems)
	}
	return listed("Transactional Messages fetched successfully", rows, meta)
}

// transactionalRow is a transactional message as it is listed.
func transactionalRow(m messaging.TransactionalMessage) any {
	return withExtra(m.Extra, map[string]any{
		"id":               m.ID,
		"channel":          m.Channel,
		"subject":          m.Subject,
		"title":            m.Title,
		"message":          m.Message,
		"message_type":     m.MessageType,
		"created_at":       timeText(m.CreatedAt, wallClock),
		"total_sent":       m.TotalSent,
		"total_delivered":  m.TotalDelivered,
		"total_failed":     m.TotalFailed,
		"total_complained": m.TotalComplained,
		"total_bounced":    m.TotalBounced,
	})
}
