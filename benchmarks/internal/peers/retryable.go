package peers

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net/http"

	"github.com/hashicorp/go-retryablehttp"
)

// Retryable is go-retryablehttp with its default client. Only its log output is
// discarded.
type Retryable struct {
	client *retryablehttp.Client
	base   string
}

// NewRetryable returns a client for the service at base. It uses the TLS
// configuration of http.DefaultTransport.
func NewRetryable(base string) *Retryable {
	client := retryablehttp.NewClient()
	client.Logger = log.New(io.Discard, "", log.LstdFlags)
	trusted := http.DefaultTransport.(*http.Transport).TLSClientConfig
	client.HTTPClient.Transport.(*http.Transport).TLSClientConfig = trusted.Clone()
	return &Retryable{client, base}
}

// Call triggers an event with a constant body.
func (r *Retryable) Call(ctx context.Context) error {
	body := bytes.NewReader([]byte(Messaging.Sends.Body))
	req, err := retryablehttp.NewRequestWithContext(ctx, http.MethodPost, r.base+Messaging.Sends.Path, body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", Messaging.Sends.ContentType)
	resp, err := r.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("trigger: %s", resp.Status)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}
