package messagingtest

import "github.com/messaging-go/messaging"

// Recipient is one group of customers that a broadcast was sent to.
type Recipient struct {
	Type string `json:"type"`
	// Customers are set if Type is RecipientCustomer.
	Customers []messaging.CustomerParams `json:"customers,omitempty"`
	// Segments are ids, which are set if Type is RecipientSegment.
	Segments []string `json:"segments,omitempty"`
}

// The types of a recipient.
const (
	RecipientCustomer = "customer"
	RecipientSegment  = "segment"
)
