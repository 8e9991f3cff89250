package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/messaging-go/messaging"

	"github.com/messaging-go/messaging/benchmarks/internal/canned"
	"github.com/messaging-go/messaging/benchmarks/internal/measure"
	"github.com/messaging-go/messaging/benchmarks/internal/peers"
)

// failing compares calls that fail with successful calls of the same size. The
// responses come from memory, since a network would hide the cost of a failure.
func failing(s *stage) ([]measure.Experiment, error) {
	pairs, err := failurePairs()
	if err != nil {
		return nil, err
	}
	e := measure.Experiment{Title: "what a failure costs", Rounds: s.manyRounds}
	for _, pair := range pairs {
		good, bad := pair.name+", good", pair.name+", bad"
		e.Variants = append(e.Variants,
			measure.Variant{Name: good, Run: repeated(pair.times, pair.good, false)},
			measure.Variant{Name: bad, Run: repeated(pair.times, pair.bad, true)})
		e.Rows = append(e.Rows, measure.Row{Measure: pair.name + ", time against success", Unit: "x",
			Limit: pair.limit, Value: timeOf(bad, good)})
	}
	return []measure.Experiment{e}, nil
}

// failurePair is a successful call, and a failing call of the same size.
type failurePair struct {
	name      string
	times     int
	good, bad func(context.Context) error
	limit     measure.Limit
}

func repeated(times int, call func(context.Context) error, fails bool) func(context.Context) (measure.Sample, error) {
	return func(ctx context.Context) (measure.Sample, error) {
		return measure.Repeat(ctx, times, func(ctx context.Context) error {
			err := call(ctx)
			if fails && err == nil {
				return errors.New("call succeeded, want an error")
			}
			if fails {
				return nil
			}
			return err
		})
	}
}

func failurePairs() ([]failurePair, error) {
	page, badPage := pageAndBadPage(100)
	var clients clients
	few, many := refusalOf(4), refusalOf(500)
	twice := measure.AtMost(2)
	pairs := []failurePair{ // nobody reads invalid pages, or refusals of 500 fields, often: these have no limit
		{"a page with an invalid row", 100, clients.list(page), clients.list(badPage), measure.Limit{}},
		{"a 422 with 4 fields", 100,
			clients.trigger(http.StatusOK, acceptanceOf(len(few))), clients.trigger(http.StatusUnprocessableEntity, few), twice},
		{"a 422 with 500 fields", 20,
			clients.list(pageOf(len(many))), clients.trigger(http.StatusUnprocessableEntity, many), measure.Limit{}},
	}
	for _, customers := range []int{1, 1000} {
		good, bad := broadcastTo(customers), broadcastTo(customers)
		invalid := newCustomers(customers)
		for i := range invalid {
			invalid[i].Email = strings.Replace(invalid[i].Email, "@", "#", 1)
		}
		bad.To = messaging.ToCustomers(invalid...)
		pairs = append(pairs, failurePair{fmt.Sprintf("a ValidationError, broadcast to %d", customers), max(20, 500/customers),
			clients.send(good), clients.send(bad), twice})
	}
	return pairs, clients.err
}

// clients creates clients with inProcess and collects the errors.
type clients struct{ err error }

func (c *clients) client(status int, body string) peers.SDK {
	client, err := inProcess(status, body)
	c.err = errors.Join(c.err, err)
	return client
}

func (c *clients) list(page string) func(context.Context) error {
	client := c.client(http.StatusOK, page)
	return func(ctx context.Context) error {
		_, err := client.Customers.List(ctx, messaging.CustomerListParams{PerPage: 100})
		return err
	}
}

func (c *clients) trigger(status int, body string) func(context.Context) error {
	return c.client(status, body).Call
}

func (c *clients) send(params messaging.EmailBroadcastParams) func(context.Context) error {
	client := c.client(http.StatusOK, canned.Messaging.Response)
	return func(ctx context.Context) error {
		_, err := client.Broadcasts.SendEmail(ctx, params)
		return err
	}
}

// pageAndBadPage returns a page, and the same page with a number in place of the last row.
func pageAndBadPage(rows int) (page, badPage string) {
	page = canned.Whole(canned.Messaging.Format, rows)
	start := strings.LastIndexByte(page[:strings.LastIndex(page, `"first_name":`)], '{')
	length := strings.IndexByte(page[start:], '}') + 1
	return page, page[:start] + "0" + strings.Repeat(" ", length-len("0")) + page[start+length:]
}

// pageOf returns a page of about the given length.
func pageOf(length int) string {
	return canned.Whole(canned.Messaging.Format, length/len(canned.Messaging.Format.Row(0)))
}

// refusalOf returns the body of a 422 with an error for each of the given number of fields.
func refusalOf(fields int) string {
	var body strings.Builder
	body.WriteString(`{"success":false,"message":"The given data was invalid.","errors":{`)
	for i := range fields {
		if i > 0 {
			body.WriteByte(',')
		}
		fmt.Fprintf(&body, `"recipients.0.customers.%d.email":["must be an email address","must be a known customer"]`, i)
	}
	body.WriteString(`}}`)
	return body.String()
}

// acceptanceOf returns the body of a success with the given length.
func acceptanceOf(length int) string {
	const head, tail = `{"success":true,"data":true,"message":"`, `"}`
	return head + strings.Repeat("Event successfully triggered. ", length)[:length-len(head)-len(tail)] + tail
}
