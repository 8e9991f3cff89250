// Package otelmessaging observes a client of package messaging with OpenTelemetry:
// traces of calls and their attempts, and metrics.
//
//	hooks, err := otelmessaging.New()
//	if err != nil {
//		return err
//	}
//	client, err := messaging.NewClient(baseURL, apiKey, messaging.WithHooks(hooks))
//
// # Spans
//
// A call is a span of kind internal, named as its operation, such as "list customers".
// Below it, each attempt is a span of kind client, named by method and path template,
// such as "GET /v1/customers"; a call of [messaging.Client.Do] by its method alone. A
// page of a range is a call.
//
//	span     attribute
//	call     messaging_go.operation, messaging_go.delivery, messaging_go.attempts, error.type
//	attempt  http.request.method, server.address, server.port, url.full, url.template,
//	         http.response.status_code, http.request.resend_count, error.type
//
// There are no others. url.full is made of the scheme, the host and the path template;
// the query and the path of a Do are left out, as they hold personal data. error.type is
// the ErrorType of [messaging.CallResult]. The status of a span is an error, without a
// description, if it has an error.type. A call that its caller cancelled has neither.
//
// # Metrics
//
//	metric                                 attributes
//	http.client.request.duration           http.request.method, server.address, server.port,
//	                                       http.response.status_code, error.type
//	messaging_go.client.operation.duration messaging_go.operation, messaging_go.delivery, error.type
//	messaging_go.client.retry.wait         messaging_go.operation
//
// All are histograms in seconds. The first counts attempts, and the second counts calls,
// so that sends of unknown delivery can be alerted on: messaging_go.delivery is
// "unknown", and messaging_go.operation is one that sends. A failed read can be
// "unknown" too, and does no harm.
//
// # Other instrumentation
//
// Do not give the client a transport of another instrumentation as well, such as
// otelhttp: it records the whole URL, and so the addresses and cursors in its query.
package otelmessaging
