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

// Retryable is go-retryablehttp with its default client, as its users get it. Only
// where its log goes is changed.
type Retryable struct {
	client *retryablehttp.Client
	base   string
}

// NewRetryable returns a client for the service at base. It trusts what
// http.DefaultTransport trusts.
func NewRetryable(base string) *Retryable {
	client := retryablehttp.NewClient()
	client.Logger = log.New(io.Discard, "", log.LstdFlags)
	trusted := http.DefaultTransport.(*http.Transport).TLSClientConfig
	client.HTTPClient.Transport.(*http.Transport).TLSClientConfig = trusted.Clone()
	return &Retryable{client, base}
}

// Call triggers an event, with the body written beforehand.
func (r *Retryable) Call(ctx context.Context) error {
	req, err := retryablehttp.NewRequestWithContext(ctx, http.MethodPost, r.base+Messaging.Sends.Path, bytes.NewReader([]byte(Messaging.Sends.Body)))
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
