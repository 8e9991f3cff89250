package benchmarks

import (
	"context"
	"fmt"
	"iter"
	"net/http"

	"github.com/stripe/stripe-go/v85"
)

// stripePeer is Stripe's client, which lists customers.
var stripePeer = contender{
	name: "stripe-go",
	service: service{
		row: stripeRow,
		frame: func(p page, _ http.Header) (head, tail string) {
			return `{"object":"list","url":"/v1/customers","data":[`, fmt.Sprintf(`],"has_more":%t}`, p.hasNext())
		},
		response: stripeRow(newPerson(0)),
		status:   http.StatusOK,
	},
	connect: func(base string) (client, error) {
		backends := stripe.NewBackendsWithConfig(&stripe.BackendConfig{URL: stripe.String(base)})
		return stripeClient{stripe.NewClient("sk_test", stripe.WithBackends(backends))}, nil
	},
}

func stripeRow(p person) string {
	return fmt.Sprintf(`{"id":"cus_%s","object":"customer","created":%d,"description":"Customer since the very beginning","email":"%s",`+
		`"livemode":false,"metadata":{},"name":"%s %s","phone":"%s","invoice_prefix":"0759376C","balance":0,"delinquent":false}`,
		p.number, p.created.Unix(), p.email, p.first, p.last, p.phone)
}

type stripeClient struct{ *stripe.Client }

func (c stripeClient) walk(ctx context.Context, perPage int) (rows int, err error) {
	params := &stripe.CustomerListParams{}
	params.Limit = stripe.Int64(int64(perPage))
	return count(iter.Seq2[*stripe.Customer, error](c.V1Customers.List(ctx, params).All(ctx)))
}

func (c stripeClient) call(ctx context.Context) error {
	_, err := c.V1Customers.Create(ctx, &stripe.CustomerCreateParams{
		Email: stripe.String("ada@example.com"), Name: stripe.String("Ada Lovelace")})
	return err
}
