package fake

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/messaging-go/messaging"
)

// state is what a server stores and has recorded. What it hands out never changes.
type state struct {
	identifier Identifier
	maxRecords int // of each kind that requests create; 0 means no limit
	noHistory  bool

	mu        sync.Mutex // protects the following fields
	customers customers
	events    []Event
	messages  []Extra
	requests  []*Request
	effects   []any // an *EmailBroadcast, *PushBroadcast or *Trigger
	lastID    int
}

// reset removes everything. It does not restart ids, nor the numbers of customers.
func (s *state) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.customers.reset()
	s.events, s.messages, s.requests, s.effects = nil, nil, nil, nil
}

// newID returns a UUID that is unique within the server. The UUIDs are sequential, so
// that the output of tests is reproducible. The caller must hold s.mu.
func (s *state) newID() string {
	s.lastID++
	return fmt.Sprintf("00000000-0000-4000-8000-%012x", s.lastID)
}

// idOr returns id, or a new one if it is "". The caller must hold s.mu.
func (s *state) idOr(id string) string {
	if id == "" {
		return s.newID()
	}
	return id
}

// full returns the response to a request that would exceed the limit of records.
func (s *state) full(kind string) response {
	return errorResponse(http.StatusInsufficientStorage, fmt.Sprintf(
		"the in-memory service stores at most %d %s; this limit is not one of the real service", s.maxRecords, kind))
}

// AddCustomers adds customers to the list, like that of package messagingtest.
func (s *state) AddCustomers(customers ...Customer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range customers {
		c.CreatedAt = truncateToSecond(timeOrNow(c.Extra, "customer_created_at", c.CreatedAt))
		c.UpdatedAt = truncateToSecond(timeOrNow(c.Extra, "updated_at", c.UpdatedAt))
		c.LastInteraction = truncateToSecond(timeOrNow(c.Extra, "last_interaction", c.LastInteraction))
		if c.Email == "" || s.identifier == CustomerID {
			c.CustomerID = s.idOr(c.CustomerID)
		}
		s.customers.add(c)
	}
}

// AddEvents adds event definitions to the list, like that of package messagingtest.
func (s *state) AddEvents(events ...Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range events {
		e.ID, e.CreatedAt = s.idOr(e.ID), timeOrNow(e.Extra, "created_at", e.CreatedAt)
		e.Parameters = slices.Clone(e.Parameters)
		for i := range e.Parameters {
			e.Parameters[i].Type = strings.ToLower(e.Parameters[i].Type)
		}
		s.events = append(s.events, e)
	}
}

// AddTransactional adds transactional messages, in the form of the list.
func (s *state) AddTransactional(messages ...Extra) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range messages {
		m = maps.Clone(m)
		if id := string(m["id"]); id == "" || id == `""` {
			m["id"] = strconv.AppendQuote(nil, s.newID())
		}
		if m["created_at"] == nil {
			m["created_at"] = strconv.AppendQuote(nil, time.Now().UTC().Format(wallClockLayout))
		}
		s.messages = append(s.messages, m)
	}
}

// Customers returns all customers in the order of their creation.
func (s *state) Customers() []Customer { return snapshot(&s.mu, &s.customers.all) }

// Events returns all event definitions in the order of their creation.
func (s *state) Events() []Event { return snapshot(&s.mu, &s.events) }

// Transactional returns all transactional messages, in the form of the list, in the order in
// which they were added.
func (s *state) Transactional() []Extra { return snapshot(&s.mu, &s.messages) }

// Counts are the numbers of records.
type Counts struct{ Customers, Events, Transactional int }

// Counts returns the numbers of records.
func (s *state) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Counts{len(s.customers.all), len(s.events), len(s.messages)}
}

// Effects returns the broadcasts and triggers that were carried out; see [Exchange.Effect].
func (s *state) Effects() []any { return snapshot(&s.mu, &s.effects) }

// snapshot returns a copy of a list that mu protects.
func snapshot[T any](mu *sync.Mutex, list *[]T) []T {
	mu.Lock()
	defer mu.Unlock()
	return slices.Clone(*list)
}

// Requests returns all requests that arrived, in order, even those that were refused.
func (s *state) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Request, len(s.requests))
	for i, r := range s.requests {
		all[i] = *r
	}
	return all
}

func (s *state) addRequest(r *Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.noHistory {
		s.requests = append(s.requests, r)
	}
}

func (s *state) setStatus(r *Request, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.StatusCode = status
}

// carryOut records a broadcast or a trigger, and updates or creates its customers, unless
// the request is invalid. Then it returns the response to the request.
func (s *state) carryOut(in *input, effect any, customers []messaging.CustomerParams, success response) response {
	if len(in.problems) > 0 {
		return invalidResponse(in.problems)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.customers.room(s.maxRecords, customers) {
		return s.full("customers")
	}
	for _, params := range customers {
		in.exchange.Customers = append(in.exchange.Customers, s.customers.upsert(params))
	}
	if !s.noHistory {
		s.effects = append(s.effects, effect)
	}
	in.exchange.Effect = effect
	return success
}

// timeOrNow returns t, or the current time if t is zero and extra has no member with the
// key.
func timeOrNow(extra Extra, key string, t time.Time) time.Time {
	if _, ok := extra[key]; t.IsZero() && !ok {
		return time.Now()
	}
	return t
}
