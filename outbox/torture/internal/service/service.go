// Package service is what the workers send to. It counts by key what it carried out, and
// loses responses.
package service

import (
	"encoding/json"
	"hash/fnv"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	catalog "github.com/messaging-go/messaging/internal/service"
)

// Service is the service. It runs in this process, which nothing kills.
type Service struct {
	// Rejects makes the service reject 2 % of the keys, and Loses makes it carry out 1 % of
	// them without a response, the first time.
	Rejects, Loses bool
	// Delay is how long a request takes.
	Delay time.Duration

	server   *httptest.Server
	mu       sync.Mutex
	carried  map[string]int
	first    map[string]time.Time
	requests int
}

// Start starts the service. Close it after use.
func (s *Service) Start() {
	s.carried, s.first = make(map[string]int), make(map[string]time.Time)
	mux := http.NewServeMux()
	mux.HandleFunc(catalog.TriggerEvent.Route(), s.trigger)
	s.server = httptest.NewServer(mux)
}

// Close waits for the last requests, and stops the service.
func (s *Service) Close() { s.server.Close() }

// URL is the URL of the service.
func (s *Service) URL() string { return s.server.URL }

// Fate returns what happens to the first request of a key.
func (s *Service) Fate(key string) (rejected, lost bool) {
	h := fnv.New32a()
	_, _ = io.WriteString(h, key)
	bucket := h.Sum32() % 100
	return s.Rejects && bucket < 2, s.Loses && bucket == 2
}

func (s *Service) trigger(w http.ResponseWriter, r *http.Request) {
	arrived := time.Now()
	var body struct {
		Payload struct {
			Key string `json:"key"`
		} `json:"payload"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	key := body.Payload.Key
	rejected, lost := s.Fate(key)
	s.mu.Lock()
	s.requests++
	if !rejected {
		s.carried[key]++
		if s.carried[key] == 1 {
			s.first[key] = arrived
		} else {
			lost = false
		}
	}
	s.mu.Unlock()
	time.Sleep(s.Delay)
	switch {
	case rejected:
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = io.WriteString(w, `{"success": false, "message": "invalid"}`)
	case lost:
		panic(http.ErrAbortHandler)
	default:
		_, _ = io.WriteString(w, `{"success": true, "data": true}`)
	}
}

// Done returns how many keys were carried out, at least once.
func (s *Service) Done() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.carried)
}

// Requests returns how many requests arrived.
func (s *Service) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// Carried returns how often each key was carried out.
func (s *Service) Carried() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.carried)
}

// First returns when each key was carried out for the first time.
func (s *Service) First() map[string]time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.first)
}
