package fake

import (
	"encoding/json"

	"github.com/messaging-go/messaging/internal/service"
)

// Read reads the body of a send as the server does, as far as it can be read, and judges
// nothing: what is invalid is zero, a schedule may be over, and the event of a trigger need
// not exist. It returns what [Exchange.Effect] has, without At, Skipped and an id. It returns
// nil if op is no send, or if the body is not a JSON object.
func Read(op *service.Operation, body []byte) (effect any) {
	o := object{problems: make(problems)}
	if json.Unmarshal(body, &o.members) != nil || o.members == nil {
		return nil
	}
	switch op {
	case service.SendEmailBroadcast:
		return readEmail(o, "")
	case service.SendPushBroadcast:
		return readPush(o, "")
	case service.TriggerEvent:
		trigger, _ := readTrigger(o, "")
		return trigger
	case service.CreateEvent:
		return readEvent(o)
	}
	return nil
}
