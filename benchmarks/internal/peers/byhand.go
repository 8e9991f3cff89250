package peers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// ByHand is a client for the messaging service without an SDK. It uses net/http
// and encoding/json, and has no retries and no validation.
type ByHand struct {
	client *http.Client
	base   string
	decode func(io.Reader, any) error
}

// NewByHand returns a client for the service at base, with its own connections. It
// has a timeout, and uses a json.Decoder for the response, as is common.
func NewByHand(base string) *ByHand {
	client := newHTTPClient()
	client.Timeout = 30 * time.Second
	return &ByHand{client, base, func(body io.Reader, into any) error { return json.NewDecoder(body).Decode(into) }}
}

// NewLeanByHand returns a faster client. It has no timeout, and reads the complete
// response before it decodes it.
func NewLeanByHand(base string) *ByHand { return NewByHandThrough(newHTTPClient().Transport, base) }

// NewByHandThrough is like NewLeanByHand, but uses the given transport.
func NewByHandThrough(transport http.RoundTripper, base string) *ByHand {
	return &ByHand{&http.Client{Transport: transport}, base, func(body io.Reader, into any) error {
		encoded, err := io.ReadAll(body)
		if err != nil {
			return err
		}
		return json.Unmarshal(encoded, into)
	}}
}

type customersResponse struct {
	Success bool   `json:"success"`
	Message string `json:"message"`
	Data    struct {
		Data []customer `json:"data"`
		Meta struct {
			HasNextPage    bool   `json:"has_next_page"`
			NextPageCursor string `json:"next_page_cursor"`
		} `json:"meta"`
	} `json:"data"`
}

type customer struct {
	CustomerID        string    `json:"customer_id"`
	FirstName         string    `json:"first_name"`
	LastName          string    `json:"last_name"`
	Email             string    `json:"email"`
	PhoneNo           string    `json:"phone_no"`
	CustomerCreatedAt time.Time `json:"customer_created_at"`
	UpdatedAt         time.Time `json:"updated_at"`
	Providers         string    `json:"providers"`
	LastInteraction   time.Time `json:"last_interaction"`
}

// Walk lists all customers.
func (b *ByHand) Walk(ctx context.Context, perPage int) (rows int, err error) {
	query := url.Values{"per_page": {strconv.Itoa(perPage)}}
	for {
		var response customersResponse
		if err := b.send(ctx, http.MethodGet, "/v1/customers?"+query.Encode(), nil, &response); err != nil {
			return rows, err
		}
		if !response.Success {
			return rows, errors.New(response.Message)
		}
		for range response.Data.Data {
			rows++
		}
		if !response.Data.Meta.HasNextPage {
			return rows, nil
		}
		query.Set("cursor", response.Data.Meta.NextPageCursor)
	}
}

// Call triggers an event.
func (b *ByHand) Call(ctx context.Context) error {
	body := struct {
		EventID string         `json:"event_id"`
		Payload map[string]any `json:"payload"`
	}{EventID, map[string]any{"email": "ada@example.com", "order": "A-1001", "amount": 125}}
	encoded, err := json.Marshal(body)
	if err != nil {
		return err
	}
	var response struct {
		Success bool   `json:"success"`
		Message string `json:"message"`
	}
	if err := b.send(ctx, http.MethodPost, "/v1/events/trigger", bytes.NewReader(encoded), &response); err != nil {
		return err
	}
	if !response.Success {
		return errors.New(response.Message)
	}
	return nil
}

func (b *ByHand) send(ctx context.Context, method, path string, body io.Reader, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, b.base+path, body)
	if err != nil {
		return err
	}
	req.Header.Set("X-Authorization", "key")
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := b.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return b.decode(resp.Body, into)
}
