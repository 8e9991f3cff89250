package openapi

import "github.com/messaging-go/messaging/internal/service"

// Parameters returns the names of the parameters that an operation has in its query.
func Parameters(op *service.Operation) (names []string) {
	for _, p := range descriptions[op].query {
		names = append(names, p.Name)
	}
	return names
}
