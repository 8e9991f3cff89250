package benchmarks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
)

// byHand is a client without an SDK. It uses net/http and encoding/json, and has no retries
// and no validation.
type byHand struct {
	http   *http.Client
	base   string
	decode func(io.Reader, any) error
}

// newByHand returns a client with a timeout and a json.Decoder, as is common.
func newByHand(base string) byHand {
	client := newHTTPClient()
	client.Timeout = 30 * time.Second
	return byHand{client, base, func(body io.Reader, into any) error { return json.NewDecoder(body).Decode(into) }}
}

// newLeanest returns the fastest client. It has no timeout, and reads the complete response before it
// decodes it.
func newLeanest(transport http.RoundTripper, base string) byHand {
	return byHand{&http.Client{Transport: transport}, base, func(body io.Reader, into any) error {
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

func (b byHand) walk(ctx context.Context, perPage int) (rows int, err error) {
	query := url.Values{"per_page": {strconv.Itoa(perPage)}}
	for {
		var response customersResponse
		if err := b.send(ctx, http.MethodGet, "/v1/customers?"+query.Encode(), nil, &response); err != nil {
			return rows, err
		}
		if !response.Success {
			return rows, errors.New(response.Message)
		}
		rows += len(response.Data.Data)
		if !response.Data.Meta.HasNextPage {
			return rows, nil
		}
		query.Set("cursor", response.Data.Meta.NextPageCursor)
	}
}

func (b byHand) call(ctx context.Context) error {
	body := struct {
		EventID string         `json:"event_id"`
		Payload map[string]any `json:"payload"`
	}{eventID, map[string]any{"email": "ada@example.com", "order": "A-1001", "amount": 125}}
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

func (b byHand) send(ctx context.Context, method, path string, body io.Reader, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, b.base+path, body)
	if err != nil {
		return err
	}
	req.Header.Set("X-Authorization", "key")
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := b.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return b.decode(resp.Body, into)
}

// recorder records requests.
type recorder struct{ requests []string }

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	var body any
	if req.Body != nil {
		encoded, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(encoded, &body); err != nil {
			return nil, err
		}
		req.Body = io.NopCloser(bytes.NewReader(encoded))
	}
	r.requests = append(r.requests, fmt.Sprint(req.Method, req.URL.Path, req.URL.Query(), body))
	return http.DefaultTransport.RoundTrip(req)
}

func TestByHandSendsTheSameRequestsAsTheSDK(t *testing.T) {
	base := server.Services["messaging"]
	var fromSDK, fromHand recorder
	sdk, err := newSDK(base, messaging.WithHTTPClient(&http.Client{Transport: &fromSDK}))
	require.NoError(t, err)

	for _, c := range []client{sdk, newLeanest(&fromHand, base)} {
		_, err := c.walk(t.Context(), 1000)
		require.NoError(t, err)
		require.NoError(t, c.call(t.Context()))
	}

	assert.Len(t, fromSDK.requests, 11)
	assert.Equal(t, fromSDK.requests, fromHand.requests)
}
