package peers

import (
	"context"
	"fmt"
	"iter"
	"net/http"

	"github.com/stripe/stripe-go/v85"

	"github.com/messaging-go/messaging/benchmarks/internal/canned"
)

// Stripe is Stripe's client, which lists customers.
var Stripe = Peer{
	Name: "stripe-go",
	New:  newStripe,
	Service: canned.Service{
		Format: stripeFormat, Response: stripeFormat.Row(0), Status: http.StatusOK,
	},
	Sends: Request{"/v1/customers", "application/x-www-form-urlencoded",
		"email=ada%40example.com&name=Ada+Lovelace"},
}

var stripeFormat = canned.Format{
	Row: func(i int) string {
		p := canned.NewPerson(i)
		return fmt.Sprintf(`{"id":"cus_%s","object":"customer","created":%d,"description":"Customer since the very beginning","email":"%s",`+
			`"livemode":false,"metadata":{},"name":"%s %s","phone":"%s","invoice_prefix":"0759376C","balance":0,"delinquent":false}`,
			canned.Number, p.Created.Unix(), p.Email, p.FirstName, p.LastName, p.Phone)
	},
	Frame: func(p canned.Page, _ http.Header) (head, tail string) {
		return `{"object":"list","url":"/v1/customers","data":[`, fmt.Sprintf(`],"has_more":%t}`, p.Next().Exists())
	},
	Ask: canned.AskAfter("starting_after"),
	Path: func(p canned.Page) string {
		path := fmt.Sprintf("/v1/customers?limit=%d", p.PerPage)
		if p.From > 0 {
			path += fmt.Sprintf("&starting_after=cus_%d", canned.NumberOf(p.From-1))
		}
		return path
	},
}

type stripeClient struct{ client *stripe.Client }

func newStripe(base string) (Client, error) {
	config := &stripe.BackendConfig{URL: stripe.String(base)}
	return stripeClient{stripe.NewClient("sk_test", stripe.WithBackends(stripe.NewBackendsWithConfig(config)))}, nil
}

func (c stripeClient) Walk(ctx context.Context, perPage int) (rows int, err error) {
	params := &stripe.CustomerListParams{}
	params.Limit = stripe.Int64(int64(perPage))
	return count(iter.Seq2[*stripe.Customer, error](c.client.V1Customers.List(ctx, params).All(ctx)))
}

func (c stripeClient) Call(ctx context.Context) error {
	_, err := c.client.V1Customers.Create(ctx, &stripe.CustomerCreateParams{
		Email: stripe.String("ada@example.com"), Name: stripe.String("Ada Lovelace")})
	return err
}
