package cli

import (
	"iter"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/output"
)

var messageTable = output.Table[messaging.TransactionalMessage]{
	Columns: []output.Column[messaging.TransactionalMessage]{
		{Name: "id", Text: func(m messaging.TransactionalMessage) string { return m.ID }},
		{Name: "channel", Text: func(m messaging.TransactionalMessage) string { return string(m.Channel) }},
		{Name: "title", Text: func(m messaging.TransactionalMessage) string { return m.Title }},
		{Name: "subject", Text: func(m messaging.TransactionalMessage) string { return m.Subject }},
		{Name: "sent", Text: func(m messaging.TransactionalMessage) string { return strconv.Itoa(m.TotalSent) }},
		{Name: "delivered", Text: func(m messaging.TransactionalMessage) string { return strconv.Itoa(m.TotalDelivered) }},
		{Name: "failed", Text: func(m messaging.TransactionalMessage) string { return strconv.Itoa(m.TotalFailed) }},
		{Name: "complained", Text: func(m messaging.TransactionalMessage) string { return strconv.Itoa(m.TotalComplained) }},
		{Name: "bounced", Text: func(m messaging.TransactionalMessage) string { return strconv.Itoa(m.TotalBounced) }},
		{Name: "created", Time: func(m messaging.TransactionalMessage) time.Time { return m.CreatedAt }},
	},
	Fields: output.FieldsOf(messaging.TransactionalMessage{CreatedAt: sampleTime}),
}

func newMessageList(s *settings) *cobra.Command {
	return list[messaging.TransactionalMessage]{
		use: "list", short: "List transactional messages, with their counts",
		example: `  messaging -p sandbox message list
  messaging -p sandbox message list --json=id,channel,total_bounced`,
		table: messageTable,
		rows: ofService(func(c call, client *messaging.Client) iter.Seq2[messaging.TransactionalMessage, error] {
			return client.Transactional.All(c.ctx, messaging.TransactionalListParams{PerPage: pageSize})
		}),
	}.command(s)
}
