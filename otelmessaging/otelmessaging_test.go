package otelmessaging_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/otelmessaging"
)

// telemetry is a client with a transport of the test, and what its hooks recorded.
type telemetry struct {
	client *messaging.Client
	tracer *sdktrace.TracerProvider
	spans  *tracetest.SpanRecorder
	reader *metric.ManualReader
}

// canary stands in every place where a caller or the service can put a secret.
const canary = "canary"

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func newTelemetry(t *testing.T, over roundTripper, opts ...otelmessaging.Option) *telemetry {
	t.Helper()
	r := &telemetry{spans: tracetest.NewSpanRecorder(), reader: metric.NewManualReader()}
	r.tracer = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r.spans))
	hooks, err := otelmessaging.New(append([]otelmessaging.Option{otelmessaging.WithTracerProvider(r.tracer),
		otelmessaging.WithMeterProvider(metric.NewMeterProvider(metric.WithReader(r.reader)))}, opts...)...)
	require.NoError(t, err)
	r.client, err = messaging.NewClient("https://api.example.com:8443/tenants/"+canary, canary+"-key", messaging.WithHooks(hooks),
		messaging.WithHTTPClient(&http.Client{Transport: over}),
		messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 2, MinWait: time.Second, MaxWait: time.Second}))
	require.NoError(t, err)
	return r
}

func responds(status int, body string, header ...string) roundTripper {
	return func(req *http.Request) (*http.Response, error) {
		if trace := httptrace.ContextClientTrace(req.Context()); trace != nil {
			trace.GetConn("api.example.com:8443")
			trace.GotConn(httptrace.GotConnInfo{})
		}
		if req.Body != nil {
			_, _ = io.Copy(io.Discard, req.Body)
		}
		resp := &http.Response{StatusCode: status, Header: http.Header{"X-Canary": {canary}}, Body: io.NopCloser(strings.NewReader(body))}
		for i := 0; i < len(header); i += 2 {
			resp.Header.Set(header[i], header[i+1])
		}
		return resp, nil
	}
}

func fails(err error) roundTripper {
	return func(req *http.Request) (*http.Response, error) {
		httptrace.ContextClientTrace(req.Context()).GetConn("api.example.com:8443")
		return nil, &url.Error{Op: req.Method, URL: req.URL.String(), Err: err}
	}
}

// attributesOf returns the attributes of a span as text, in the order of their keys.
func attributesOf(attributes []attribute.KeyValue) []string {
	var all []string
	for _, a := range attributes {
		all = append(all, fmt.Sprintf("%s=%s", a.Key, a.Value.String()))
	}
	slices.Sort(all)
	return all
}

func TestSpansShowARetriedCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		attempts := 0
		r := newTelemetry(t, func(req *http.Request) (*http.Response, error) {
			if attempts++; attempts == 1 {
				return responds(503, "")(req)
			}
			return responds(200, `{"success":true,"data":{"data":[],"meta":{"has_next_page":false}}}`)(req)
		})
		ctx, parent := r.tracer.Tracer("test").Start(t.Context(), "caller")
		_, err := r.client.Customers.List(ctx, messaging.CustomerListParams{Emails: messaging.Only(canary + "@example.com"), Cursor: canary})
		require.NoError(t, err)
		spans := r.spans.Ended()
		require.Len(t, spans, 3)
		first, second, call := spans[0], spans[1], spans[2]

		assert.Equal(t, "list customers", call.Name())
		assert.Equal(t, trace.SpanKindInternal, call.SpanKind())
		assert.Equal(t, parent.SpanContext().SpanID(), call.Parent().SpanID())
		assert.Equal(t, []string{"messaging_go.attempts=2", "messaging_go.delivery=accepted", "messaging_go.operation=list customers"},
			attributesOf(call.Attributes()))
		assert.Equal(t, sdktrace.Status{}, call.Status())

		for _, attempt := range []sdktrace.ReadOnlySpan{first, second} {
			assert.Equal(t, "GET /v1/customers", attempt.Name())
			assert.Equal(t, trace.SpanKindClient, attempt.SpanKind())
			assert.Equal(t, call.SpanContext().SpanID(), attempt.Parent().SpanID())
		}
		shared := []string{"http.request.method=GET", "server.address=api.example.com", "server.port=8443",
			"url.full=https://api.example.com:8443/v1/customers", "url.template=/v1/customers"}
		assert.ElementsMatch(t, append(shared, "http.response.status_code=503", "error.type=503"), attributesOf(first.Attributes()))
		assert.ElementsMatch(t, append(shared, "http.response.status_code=200", "http.request.resend_count=1"), attributesOf(second.Attributes()))
		assert.Equal(t, sdktrace.Status{Code: codes.Error}, first.Status())
		assert.Equal(t, sdktrace.Status{}, second.Status())
	})
}

func TestSpansOfDoShowOnlyTheHost(t *testing.T) {
	r := newTelemetry(t, responds(200, `{"success":true}`))
	_, err := r.client.Do(t.Context(), messaging.Request{Operation: "tag customer", Method: "PURGE", Path: "/v1/customers/" + canary})
	require.NoError(t, err)
	spans := r.spans.Ended()
	assert.Equal(t, []string{"HTTP", "tag customer"}, []string{spans[0].Name(), spans[1].Name()})
	assert.Equal(t, []string{"http.request.method=_OTHER", "http.response.status_code=200", "server.address=api.example.com",
		"server.port=8443", "url.full=https://api.example.com:8443"}, attributesOf(spans[0].Attributes()))
}

func TestSpansOfACanceledCallHaveNoError(t *testing.T) {
	r := newTelemetry(t, func(req *http.Request) (*http.Response, error) {
		<-req.Context().Done()
		return nil, req.Context().Err()
	})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	_, err := r.client.Events.Trigger(ctx, messaging.EventTriggerParams{EventID: "e", Email: "ada@example.com"})
	require.ErrorIs(t, err, context.Canceled)
	for _, span := range r.spans.Ended() {
		assert.Equal(t, sdktrace.Status{}, span.Status())
		assert.NotContains(t, strings.Join(attributesOf(span.Attributes()), " "), "error.type")
	}
}

func TestSpansOfARangeAreEndedWhenItIsLeft(t *testing.T) {
	pages, ahead := 0, make(chan struct{})
	r := newTelemetry(t, func(req *http.Request) (*http.Response, error) {
		if pages++; pages == 3 { // the page that is fetched in advance
			close(ahead)
			<-req.Context().Done()
			return nil, req.Context().Err()
		}
		return responds(200, fmt.Sprintf(`{"success":true,"data":[{"id":"%d"}],"meta":{"has_next_page":true,"next_page_cursor":"%s-%d"}}`,
			pages, canary, pages))(req)
	})
	seen := 0
	for _, err := range r.client.Events.All(t.Context(), messaging.EventListParams{}) {
		require.NoError(t, err)
		if seen++; seen == 2 {
			<-ahead
			break
		}
	}
	assert.Len(t, r.spans.Started(), 6)
	assert.Len(t, r.spans.Ended(), 6)
}

func TestSpansAreBelowTheCallerWithoutOperationSpans(t *testing.T) {
	r := newTelemetry(t, responds(200, `{"success":true,"data":[]}`), otelmessaging.WithoutOperationSpans())
	ctx, parent := r.tracer.Tracer("test").Start(t.Context(), "caller")
	_, err := r.client.Events.List(ctx, messaging.EventListParams{})
	require.NoError(t, err)
	require.Len(t, r.spans.Ended(), 1, "the caller ends its own span")
	assert.Equal(t, parent.SpanContext().SpanID(), r.spans.Ended()[0].Parent().SpanID())
	assert.Contains(t, r.metrics(t), "messaging_go.client.operation.duration")
}

func TestSpansOfTwoHooksAreSeparate(t *testing.T) {
	r := newTelemetry(t, responds(200, `{"success":true,"data":[]}`))
	one, two := tracetest.NewSpanRecorder(), tracetest.NewSpanRecorder()
	var opts []messaging.Option
	for _, recorder := range []*tracetest.SpanRecorder{one, two} {
		provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
		hooks, err := otelmessaging.New(otelmessaging.WithTracerProvider(provider))
		require.NoError(t, err)
		opts = append(opts, messaging.WithHooks(hooks))
	}
	client, err := messaging.NewClient("https://api.example.com", "test-key-1",
		append(opts, messaging.WithHTTPClient(&http.Client{Transport: responds(200, `{"success":true,"data":[]}`)}))...)
	require.NoError(t, err)
	_, err = client.Events.List(t.Context(), messaging.EventListParams{})
	require.NoError(t, err)
	assert.Empty(t, r.spans.Ended())
	assert.Len(t, one.Ended(), 2)
	assert.Len(t, two.Ended(), 2)
}

func TestPropagationIsOffUnlessAPropagatorIsGiven(t *testing.T) {
	var sent []http.Header
	over := func(req *http.Request) (*http.Response, error) {
		sent = append(sent, req.Header.Clone())
		return responds(503, "")(req)
	}
	member, err := baggage.NewMember("user", canary)
	require.NoError(t, err)
	bag, err := baggage.New(member)
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		ctx := baggage.ContextWithBaggage(t.Context(), bag)
		r := newTelemetry(t, over)
		_, _ = r.client.Events.List(ctx, messaging.EventListParams{})
		for _, header := range sent {
			assert.NotContains(t, header, "Traceparent")
			assert.NotContains(t, header, "Baggage")
		}

		sent = nil
		r = newTelemetry(t, over, otelmessaging.WithPropagator(propagation.TraceContext{}))
		_, _ = r.client.Events.List(ctx, messaging.EventListParams{})
		spans := r.spans.Ended()
		require.Len(t, sent, 2)
		for i, header := range sent {
			assert.Contains(t, header.Get("Traceparent"), spans[i].SpanContext().SpanID().String(), "the context of the attempt")
			assert.NotContains(t, header, "Baggage")
		}
	})
}

func TestNewReportsEveryInvalidOption(t *testing.T) {
	tests := map[string]struct {
		opts []otelmessaging.Option
		want string
	}{
		"a nil option":          {[]otelmessaging.Option{nil}, "option 1 is nil"},
		"a nil tracer provider": {[]otelmessaging.Option{otelmessaging.WithTracerProvider(nil)}, "WithTracerProvider: provider must not be nil"},
		"a nil meter provider":  {[]otelmessaging.Option{otelmessaging.WithMeterProvider(nil)}, "WithMeterProvider: provider must not be nil"},
		"a nil propagator":      {[]otelmessaging.Option{otelmessaging.WithPropagator(nil)}, "WithPropagator: propagator must not be nil"},
		"several": {[]otelmessaging.Option{otelmessaging.WithMeterProvider(nil), otelmessaging.WithoutOperationSpans(), nil,
			otelmessaging.WithPropagator(nil)},
			"WithMeterProvider: provider must not be nil; option 3 is nil; WithPropagator: propagator must not be nil"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			hooks, err := otelmessaging.New(test.opts...)
			require.EqualError(t, err, "otelmessaging: "+test.want)
			assert.Zero(t, hooks)
		})
	}
}

func TestNewUsesTheGlobalProvidersByDefault(t *testing.T) {
	_, err := otelmessaging.New()
	require.NoError(t, err)
}

// metrics returns the count and the sum for each set of attributes, by the name of the
// metric.
func (r *telemetry) metrics(t *testing.T) map[string][]string {
	t.Helper()
	var collected metricdata.ResourceMetrics
	require.NoError(t, r.reader.Collect(t.Context(), &collected))
	found := map[string][]string{}
	for _, scope := range collected.ScopeMetrics {
		for _, m := range scope.Metrics {
			assert.Equal(t, "s", m.Unit)
			for _, point := range m.Data.(metricdata.Histogram[float64]).DataPoints {
				found[m.Name] = append(found[m.Name], fmt.Sprintf("%d %.1f %s", point.Count, point.Sum,
					strings.Join(attributesOf(point.Attributes.ToSlice()), " ")))
			}
			slices.Sort(found[m.Name])
		}
	}
	return found
}

func TestMetricsCountCallsAttemptsAndWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTelemetry(t, func(req *http.Request) (*http.Response, error) {
			time.Sleep(time.Second)
			return responds(503, "")(req)
		})
		_, err := r.client.Events.List(t.Context(), messaging.EventListParams{})
		require.Error(t, err)
		_, err = r.client.Events.Trigger(t.Context(), messaging.EventTriggerParams{EventID: "e", Email: "ada@example.com"})
		require.Error(t, err)
		_, err = r.client.Events.Trigger(t.Context(), messaging.EventTriggerParams{})
		require.Error(t, err)
		const server = "error.type=503 http.request.method=%s http.response.status_code=503 server.address=api.example.com server.port=8443"
		assert.Equal(t, map[string][]string{
			"http.client.request.duration": {"1 1.0 " + fmt.Sprintf(server, "POST"), "2 2.0 " + fmt.Sprintf(server, "GET")},
			"messaging_go.client.operation.duration": {
				"1 0.0 error.type=validation messaging_go.delivery=not_sent messaging_go.operation=trigger event",
				"1 1.0 error.type=503 messaging_go.delivery=unknown messaging_go.operation=trigger event",
				"1 3.0 error.type=503 messaging_go.delivery=unknown messaging_go.operation=list events"},
			"messaging_go.client.retry.wait": {"1 1.0 messaging_go.operation=list events"},
		}, r.metrics(t))
	})
}

var errCanary = errors.New(canary)
