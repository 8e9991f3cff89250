package cli

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/output"
)

func newMessage(s *settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "message",
		Short: "List transactional messages and total their delivery counts",
		Example: `  messaging -p sandbox message list
  messaging -p sandbox message stats`,
		Args: cobra.NoArgs,
	}
	cmd.AddCommand(newMessageList(s), newMessageStats(s))
	return cmd
}

func newMessageList(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List transactional messages, with their counts",
		Example: `  messaging -p sandbox message list
  messaging -p sandbox message list --json=id,channel,total_bounced`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return list(cmd, s, messageTable, allMessages)
		},
	}
}

func allMessages(ctx context.Context, client *messaging.Client) iter.Seq2[messaging.TransactionalMessage, error] {
	return client.Transactional.All(ctx, messaging.TransactionalListParams{PerPage: pageSize})
}

// messageStats are the counts of the messages of a channel, or of all.
type messageStats struct {
	Channel    string `json:"channel"`
	Messages   int    `json:"messages"`
	Sent       int    `json:"total_sent"`
	Delivered  int    `json:"total_delivered"`
	Failed     int    `json:"total_failed"`
	Complained int    `json:"total_complained"`
	Bounced    int    `json:"total_bounced"`
}

func (t *messageStats) add(m messaging.TransactionalMessage) {
	t.Messages++
	t.Sent += m.TotalSent
	t.Delivered += m.TotalDelivered
	t.Failed += m.TotalFailed
	t.Complained += m.TotalComplained
	t.Bounced += m.TotalBounced
}

var statsTable = output.Table[messageStats]{
	Columns: []output.Column[messageStats]{
		{Name: "channel", Text: func(t messageStats) string { return t.Channel }},
		{Name: "messages", Text: func(t messageStats) string { return strconv.Itoa(t.Messages) }},
		{Name: "sent", Text: func(t messageStats) string { return strconv.Itoa(t.Sent) }},
		{Name: "delivered", Text: func(t messageStats) string { return strconv.Itoa(t.Delivered) }},
		{Name: "failed", Text: func(t messageStats) string { return strconv.Itoa(t.Failed) }},
		{Name: "complained", Text: func(t messageStats) string { return strconv.Itoa(t.Complained) }},
		{Name: "bounced", Text: func(t messageStats) string { return strconv.Itoa(t.Bounced) }},
	},
	Fields: output.FieldsOf(messageStats{}),
}

func newMessageStats(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:   "stats",
		Short: "Add up the counts of all transactional messages by channel",
		Example: `  messaging -p sandbox message stats
  messaging -p sandbox message stats --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return list(cmd, s, statsTable, statsOf)
		},
	}
}

// statsOf yields the counts of each channel, and then of all. It yields nothing before it
// has read every message.
func statsOf(ctx context.Context, client *messaging.Client) iter.Seq2[messageStats, error] {
	return func(yield func(messageStats, error) bool) {
		all, channels := messageStats{Channel: "all"}, make(map[string]*messageStats)
		for m, err := range allMessages(ctx, client) {
			if err != nil {
				yield(messageStats{}, err)
				return
			}
			channel := string(m.Channel)
			if channels[channel] == nil {
				channels[channel] = &messageStats{Channel: channel}
			}
			channels[channel].add(m)
			all.add(m)
		}
		for _, channel := range slices.Sorted(maps.Keys(channels)) {
			if !yield(*channels[channel], nil) {
				return
			}
		}
		yield(all, nil)
	}
}
