package inspector

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
)

// entryList is a section that lists entries of the history.
type entryList struct {
	name, title string
	list, item  string // paths
	only        func(*history.Entry) bool
	requested   func(op string) bool // whether it is for the list, also if it was not carried out
	count       func(history.State) int
	term        string // the search for what was requested, or ""
}

var (
	requestList = entryList{"requests", "Requests", "/", "/requests", isAny, func(string) bool { return true },
		func(s history.State) int { return s.Requests }, ""}
	broadcastList = entryList{"broadcasts", "Broadcasts", "/broadcasts", "/broadcasts", isBroadcast, sendsBroadcast,
		func(s history.State) int { return s.Broadcasts }, "op:broadcast"}
	triggerList = entryList{"triggers", "Triggers", "/triggers", "/triggers", isTrigger, triggersEvent,
		func(s history.State) int { return s.Triggers }, "op:trigger"}
	entryLists = []entryList{requestList, broadcastList, triggerList}
)

// section is a list that the pages link to.
type section struct {
	Name, Title, Href string
	Count             int
}

// sections returns the sections in the order of the pages.
func (in *Inspector) sections() (list []section) {
	state := in.box.History.State()
	for _, l := range entryLists {
		list = append(list, section{l.name, l.title, l.list, l.count(state)})
	}
	for _, kind := range records.Kinds {
		list = append(list, section{kind.Name, kind.Title(), "/" + kind.Name, in.box.Records.Count(kind)})
	}
	return append(list, section{"faults", "Faults", "/faults", len(in.box.Rules())})
}

// counts are the numbers beside the names of the sections, and the outage.
type counts struct {
	Sections []section
	// OutageUntil is the end of the outage, or nil.
	OutageUntil *time.Time
}

func (in *Inspector) counts() counts { return counts{in.sections(), in.outageUntil()} }

// MarshalJSON writes one object, with a member for each section and the outage.
func (c counts) MarshalJSON() ([]byte, error) {
	outage, err := json.Marshal(c.OutageUntil)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for _, s := range c.Sections {
		_, _ = fmt.Fprintf(&b, "%q:%d,", s.Name, s.Count) // a buffer returns no error
	}
	_, _ = fmt.Fprintf(&b, `"outage_until":%s}`, outage)
	return b.Bytes(), nil
}
