package main

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/messaging-go/messaging/outbox/internal/pgtest"
	"github.com/messaging-go/messaging/outbox/torture/internal/document"
	"github.com/messaging-go/messaging/outbox/torture/internal/process"
)

// TestMain lets the test binary be its own worker process.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == process.First {
		if err := command(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// River repeats the jobs of a killed process only after its lease as a leader has ended,
// so the test does not kill it.
func TestEveryWaySendsEverythingAndThisOutboxSendsNothingTwice(t *testing.T) {
	p := plan{entries: 150, kills: 1, inFlight: 8, callers: 4, commits: 100 * time.Millisecond, server: pgtest.URL(t)}
	unkilled := p
	unkilled.kills = 0
	var all []result
	var mu sync.Mutex
	var group sync.WaitGroup
	for names, p := range map[string]plan{"outbox|loop|Watermill": p, "River": unkilled} {
		group.Go(func() {
			results, err := p.run(t.Context(), regexp.MustCompile(names), len(ways))
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, results...)
		})
	}
	group.Wait()
	if len(all) != len(ways) {
		t.Fatalf("got %d results, want %d", len(all), len(ways))
	}
	for _, r := range all {
		if r.Lost > 0 || r.Deliveries == 0 {
			t.Errorf("nothing must be lost, and the rate must be measured: %s", r.line())
		}
		if r.Ours && (r.Twice > 0 || r.Unknown == 0) {
			t.Errorf("a kill must leave entries unclear, and none must be sent twice: %s", r.line())
		}
	}
}

func TestACountDistinguishesLostFromUnknown(t *testing.T) {
	service := &observed{carried: map[string]int{"once": 1, "twice": 2, "repeated": 3, "told": 1}, lost: map[string]int{"twice": 1}}
	var r result
	r.count([]string{"once", "twice", "repeated", "told", "untold", "gone"}, map[string]bool{"told": true, "untold": true}, service)
	if r.Twice != 2 || r.TwiceAfterLoss != 1 || r.Lost != 1 || r.Unknown != 2 || r.UnknownCarried != 1 {
		t.Errorf("got %+v", r)
	}
}

func TestTheKillsAreTheSameForEveryWay(t *testing.T) {
	p := plan{kills: 20}
	first, second := p.schedule(), p.schedule()
	for i, part := range first {
		if part != second[i] || part < rateTo || part > killTo {
			t.Errorf("kill %d: %v and %v", i, part, second[i])
		}
	}
}

func TestTheREADMEShowsTheTableOfTheResults(t *testing.T) {
	encoded, err := os.ReadFile("results.json")
	if err != nil {
		t.Fatal(err)
	}
	var results []result
	if err := json.Unmarshal(encoded, &results); err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	want := document.Begin("side by side") + "\n" + table(results) + document.End + "\n"
	if !strings.Contains(string(readme), want) {
		t.Errorf("torture/README.md must contain this table:\n%s", want)
	}
}

func TestThePictureIsXMLWithABarForEachNumber(t *testing.T) {
	drawn, err := draw([]result{{Name: "this & that", Twice: 3, Ours: true}, {Name: "other"}})
	if err != nil {
		t.Fatal(err)
	}
	bars := 0
	for decoder := xml.NewDecoder(strings.NewReader(string(drawn))); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, drawn)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "rect" {
			bars++
		}
	}
	if bars != 1+2*4 {
		t.Errorf("got %d rectangles, want a background and 8 bars", bars)
	}
}
