package sidebyside

import (
	"net/http"
	"strings"
	"testing"

	"github.com/messaging-go/messaging/internal/service"
	torture "github.com/messaging-go/messaging/outbox/torture/internal/service"
)

func TestACountDistinguishesLostFromUnknown(t *testing.T) {
	to := &torture.Service{}
	to.Start()
	defer to.Close()
	for _, key := range []string{"once", "twice", "twice", "told"} {
		response, err := http.Post(to.URL()+service.TriggerEvent.Path, "application/json", strings.NewReader(`{"payload":{"key":"`+key+`"}}`))
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
	}
	var r result
	r.count([]string{"once", "twice", "told", "untold", "gone"}, map[string]bool{"told": true, "untold": true}, to)
	if r.twice != 1 || r.lost != 1 || r.unknown != 2 || r.unknownCarried != 1 {
		t.Errorf("got %+v", r)
	}
	for _, w := range ways {
		if missed := r.row(w).Missed; !missed {
			t.Errorf("%s lost an entry", w)
		}
		if missed := (result{twice: 1}).row(w).Missed; missed != w.ours {
			t.Errorf("%s: a second send is missed: %t", w, missed)
		}
	}
}

func TestTheKillsAreTheSameForEveryWay(t *testing.T) {
	l := Lab{Kills: 20}
	first, second := l.schedule(), l.schedule()
	for i, part := range first {
		if part != second[i] || part < rateTo || part > killTo {
			t.Errorf("kill %d: %v and %v", i, part, second[i])
		}
	}
}
