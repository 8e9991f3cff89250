package messaging

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/internal/exchange"
	"github.com/messaging-go/messaging/internal/service"
	"github.com/messaging-go/messaging/internal/wire"
)

// errorsOfStages has, for each stage of package exchange, the type of the error of a
// call that got as far, and whether its delivery is that of the outcome.
var errorsOfStages = map[exchange.Stage]struct {
	err      error
	delivery Delivery
}{
	exchange.None:          {new(TransportError), DeliveryUnknown},
	exchange.NoResponse:    {new(TransportError), DeliveryRejected},
	exchange.Rejected:      {new(APIError), DeliveryRejected},
	exchange.Unreadable:    {new(DecodeError), DeliveryRejected},
	exchange.Succeeded:     {nil, DeliveryAccepted},
	exchange.Succeeded + 1: {new(TransportError), DeliveryUnknown}, // is there no more
}

func TestErrorOfEveryStage(t *testing.T) {
	cause := errors.New("the cause")
	for stage, want := range errorsOfStages {
		// No attempt is rejected without a response: the delivery shows where it comes from.
		result := &exchange.Result{Stage: stage, Err: cause, Problem: new(wire.ErrorBody)}
		outcome := &exchange.Outcome{Result: result, Delivery: exchange.DeliveryRejected, Step: exchange.StepRetry, Attempts: 2}
		err := newError(service.TriggerEvent, outcome, "https://api.example.com")
		assert.IsType(t, want.err, err, "stage %d", stage)
		assert.Equal(t, want.delivery, DeliveryOf(err), "stage %d", stage)
		assert.Equal(t, want.delivery == DeliveryRejected, NextStepOf(err) == NextRetry, "stage %d: what is unknown is not retryable", stage)
	}
}

func TestErrorsOfStagesKnowEveryStage(t *testing.T) {
	const path = "internal/exchange/outcome.go"
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	require.NoError(t, err)
	stages := 0
	for _, declaration := range file.Decls {
		group, ok := declaration.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		first := group.Specs[0].(*ast.ValueSpec)
		if name, ok := first.Type.(*ast.Ident); ok && name.Name == "Stage" {
			stages += len(group.Specs)
		}
	}
	assert.Equal(t, stages+1, len(errorsOfStages),
		"a row for each constant of type Stage in %s, and one beyond: add the new stage here, and to newError in errors.go", path)
}
