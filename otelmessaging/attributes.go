package otelmessaging

import (
	"net"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/messaging-go/messaging"
)

// The keys of all attributes. The keys that this package defines begin with messaging_go,
// because the semantic conventions use messaging for message brokers.
const (
	operationKey = attribute.Key("messaging_go.operation")
	deliveryKey  = attribute.Key("messaging_go.delivery")
	attemptsKey  = attribute.Key("messaging_go.attempts")

	methodKey      = semconv.HTTPRequestMethodKey
	addressKey     = semconv.ServerAddressKey
	portKey        = semconv.ServerPortKey
	urlKey         = semconv.URLFullKey
	templateKey    = semconv.URLTemplateKey
	statusCodeKey  = semconv.HTTPResponseStatusCodeKey
	resendCountKey = semconv.HTTPRequestResendCountKey
	errorTypeKey   = semconv.ErrorTypeKey
)

// attemptAttributes returns the attributes that the span and the metric of an attempt
// share.
func attemptAttributes(call messaging.CallInfo) []attribute.KeyValue {
	return []attribute.KeyValue{methodKey.String(method(call)), addressKey.String(call.Host), portKey.Int(call.Port)}
}

// otherMethod replaces a method that the semantic conventions do not define. The caller
// of Do can choose any method.
const otherMethod = "_OTHER"

func method(call messaging.CallInfo) string {
	switch call.Method {
	case "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE":
		return call.Method
	default:
		return otherMethod
	}
}

func attemptName(call messaging.CallInfo) string {
	name := method(call)
	if name == otherMethod {
		name = "HTTP"
	}
	if call.Path != "" {
		name += " " + call.Path
	}
	return name
}

// fullURL returns the URL without the parts that the caller provides, which may hold
// personal data.
func fullURL(call messaging.CallInfo) attribute.KeyValue {
	host := call.Host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if call.Scheme == "http" && call.Port != 80 || call.Scheme != "http" && call.Port != 443 {
		host = net.JoinHostPort(call.Host, strconv.Itoa(call.Port))
	}
	return urlKey.String(call.Scheme + "://" + host + call.Path)
}

// inWord returns a delivery in the spelling that logs have, such as "not_sent".
func inWord(d messaging.Delivery) string {
	word, _ := d.MarshalText() // never fails
	return string(word)
}
