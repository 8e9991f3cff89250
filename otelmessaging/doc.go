// Package otelmessaging records OpenTelemetry traces and metrics of a client of package
// messaging.
//
//	hooks, err := otelmessaging.New()
//	if err != nil {
//		return err
//	}
//	client, err := messaging.NewClient(baseURL, apiKey, messaging.WithHooks(hooks))
//
// # Spans
//
// The span of a call has the kind internal and the name of its operation, such as "list
// customers". Each attempt of the call is a child span with the kind client. Its name is
// the method and the path template, such as "GET /v1/customers", or only the method for
// [messaging.Client.Do]. When a program ranges over a list, each page is a separate call.
//
//	span     attributes
//	call     messaging_go.operation, messaging_go.delivery, messaging_go.attempts, error.type
//	attempt  http.request.method, server.address, server.port, url.full, url.template,
//	         http.response.status_code, http.request.resend_count, error.type
//
// Spans have no other attributes. url.full consists of the scheme, the host and the path
// template. It never contains a query or the path of a Do, because they may hold personal
// data. error.type is the ErrorType of [messaging.CallResult] or
// [messaging.AttemptResult]. If it is set, the status of the span is an error without a
// description. A call that its caller canceled is not an error.
//
// # Metrics
//
//	metric                                 attributes
//	http.client.request.duration           http.request.method, server.address, server.port,
//	                                       http.response.status_code, error.type
//	messaging_go.client.operation.duration messaging_go.operation, messaging_go.delivery, error.type
//	messaging_go.client.retry.wait         messaging_go.operation
//
// All metrics are histograms in seconds. The first one measures attempts, the second one
// measures calls, and the third one measures the waits before retries.
//
// Alert on sends whose messaging_go.delivery is "unknown": they may have gone through
// although they failed. An unknown delivery of a read is harmless.
//
// # Other instrumentation
//
// Do not combine these hooks with an instrumented transport, such as that of otelhttp. It
// would record the whole URL, and with it the email addresses and cursors in the query.
package otelmessaging
