package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

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
		Delivery: words.Delivery(messaging.DeliveryAccepted), Recipients: send.count}
	if response != nil {
		outcome.Message = response.Message
	}
	if s.printer.IsJSON() {
		if err := s.printer.Object(outcome); err != nil {
			return exit.With(exit.PartlyDone, "%w", &unprintedError{outcome.Operation, err})
		}
		return nil
	}
	text := "accepted"
	if outcome.Message != "" {
		text += ": " + outcome.Message
	}
	s.printer.Note("%s", text)
	return nil
}

// unprintedError reports that the output of a send that was accepted could not be written.
type unprintedError struct {
	op  string
	err error
}

func (e *unprintedError) Error() string {
	return fmt.Sprintf("%s: it was accepted, but the output could not be written: %v", e.op, e.err)
}

func (e *unprintedError) Unwrap() error                { return e.err }
func (e *unprintedError) Delivery() messaging.Delivery { return messaging.DeliveryAccepted }

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
