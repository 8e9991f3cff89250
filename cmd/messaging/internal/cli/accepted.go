package cli

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/confirm"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// acceptedSend is a send that was carried out, in JSON.
type acceptedSend struct {
	Operation  string `json:"operation"`
	Delivery   string `json:"delivery"`
	Recipients *int   `json:"recipients"` // nil if the number is not known
	Message    string `json:"message"`
}

// accepted reports a send that was carried out.
func (s *settings) accepted(send sending, response *messaging.Response) error {
	outcome := acceptedSend{Operation: send.prepared.Operation(),
		Delivery: exit.DeliveryName(messaging.DeliveryAccepted), Recipients: send.count}
	if response != nil {
		outcome.Message = response.Message
	}
	if s.printer.IsJSON() {
		return s.printer.Object(outcome)
	}
	text := "accepted"
	if outcome.Message != "" {
		text += ": " + outcome.Message
	}
	s.printer.Note("%s", text)
	return nil
}

// describeBody adds the exact content of a request to a plan.
func describeBody(plan *confirm.Plan, prepared *messaging.Prepared) {
	body := prepared.Body()
	plan.Add("body", words.Count(len(body), "byte"))
	plan.Add("body sha256", sum(body)) // by itself: it fits into 80 columns
}

func sum(body []byte) string {
	hash := sha256.Sum256(body)
	return hex.EncodeToString(hash[:])
}

// pageSize is the number of rows on a page of a list.
const pageSize = 100
