package main

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	catalog "github.com/messaging-go/messaging/internal/service"
)

// server is the service. It counts by key what it carried out, and can fail.
type server struct {
	mu       sync.Mutex
	carried  map[string]int
	arrived  map[string][]time.Time // what was carried out
	lost     int
	requests int
	settings settings
}

// settings determine how the service behaves.
type settings struct {
	// Faults makes the service reject 2 % of the keys and lose the response for 1 %.
	Faults bool
	// Delay is how long a request takes.
	Delay time.Duration
	// Status is the status of every response, if it is not 0.
	Status int
}

// report is what the service reports about itself.
type report struct {
	Carried  map[string]int
	Arrived  map[string][]time.Time
	Lost     int
	Requests int
	Total    int
}

// serve is the main function of the service process. It prints the URL that controls the
// service and the URL of the service.
func serve() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s := &server{carried: make(map[string]int), arrived: make(map[string][]time.Time)}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	control, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /settings", s.change)
	mux.HandleFunc("GET /report", s.report)
	mux.HandleFunc("GET /total", s.total)
	controller := &http.Server{Handler: mux}
	trigger := http.NewServeMux()
	trigger.HandleFunc(catalog.TriggerEvent.Route(), s.trigger)
	service := &http.Server{Handler: trigger}
	fmt.Printf("http://%s http://%s\n", control.Addr(), listener.Addr())
	go func() { _ = service.Serve(listener) }()
	go func() {
		<-ctx.Done()
		_ = controller.Close()
		_ = service.Close()
	}()
	_ = controller.Serve(control)
	return nil
}

// fate returns what happens to the request of a key.
func fate(key string) (rejected, lost bool) {
	h := fnv.New32a()
	_, _ = io.WriteString(h, key)
	bucket := h.Sum32() % 100
	return bucket < 2, bucket == 2
}

func (s *server) trigger(w http.ResponseWriter, r *http.Request) {
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
	s.mu.Lock()
	settings := s.settings
	rejected, lost := fate(key)
	rejected, lost = rejected && settings.Faults, lost && settings.Faults
	s.requests++
	if settings.Status == 0 && !rejected {
		s.carried[key]++
		s.arrived[key] = append(s.arrived[key], arrived)
		if lost {
			s.lost++
		}
	}
	s.mu.Unlock()
	if settings.Delay > 0 {
		time.Sleep(settings.Delay)
	}
	switch {
	case settings.Status != 0:
		w.WriteHeader(settings.Status)
		_, _ = io.WriteString(w, `{"success": false}`)
	case rejected:
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = io.WriteString(w, `{"success": false, "message": "invalid"}`)
	case lost:
		panic(http.ErrAbortHandler)
	default:
		_, _ = io.WriteString(w, `{"success": true, "data": true}`)
	}
}

// change changes the settings.
func (s *server) change(w http.ResponseWriter, r *http.Request) {
	var settings settings
	if err := json.NewDecoder(r.Body).Decode(&settings); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settings = settings
}

func (s *server) report(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = json.NewEncoder(w).Encode(report{Carried: s.carried, Arrived: s.arrived, Lost: s.lost, Requests: s.requests, Total: len(s.carried)})
}

func (s *server) total(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = json.NewEncoder(w).Encode(report{Lost: s.lost, Requests: s.requests, Total: len(s.carried)})
}
