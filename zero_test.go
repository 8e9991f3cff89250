package messaging_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
)

// exportedTypes are all exported types, except the interfaces that only this package
// implements.
var exportedTypes = []reflect.Type{
	reflect.TypeFor[messaging.APIError](), reflect.TypeFor[messaging.AttemptResult](), reflect.TypeFor[messaging.Audience](),
	reflect.TypeFor[messaging.BroadcastsService](), reflect.TypeFor[messaging.Call](), reflect.TypeFor[messaging.CallInfo](),
	reflect.TypeFor[messaging.CallResult](), reflect.TypeFor[messaging.Channel](), reflect.TypeFor[messaging.Client](),
	reflect.TypeFor[messaging.Customer](), reflect.TypeFor[messaging.CustomerListParams](), reflect.TypeFor[messaging.CustomerParams](),
	reflect.TypeFor[messaging.CustomersService](), reflect.TypeFor[messaging.DecodeError](), reflect.TypeFor[messaging.Delivery](),
	reflect.TypeFor[messaging.Device](), reflect.TypeFor[messaging.EmailBroadcastParams](), reflect.TypeFor[messaging.Event](),
	reflect.TypeFor[messaging.EventCreateParams](), reflect.TypeFor[messaging.EventListParams](), reflect.TypeFor[messaging.EventParameter](),
	reflect.TypeFor[messaging.EventTriggerParams](), reflect.TypeFor[messaging.EventsService](), reflect.TypeFor[messaging.Extra](),
	reflect.TypeFor[messaging.FieldError](), reflect.TypeFor[messaging.GuardError](), reflect.TypeFor[messaging.Hooks](),
	reflect.TypeFor[messaging.NextStep](), reflect.TypeFor[messaging.Page[messaging.Event]](), reflect.TypeFor[messaging.PageError](),
	reflect.TypeFor[messaging.PageMeta](), reflect.TypeFor[messaging.ParameterType](), reflect.TypeFor[messaging.Prepared](),
	reflect.TypeFor[messaging.PushBroadcastParams](), reflect.TypeFor[messaging.Recipient](), reflect.TypeFor[messaging.RecipientType](),
	reflect.TypeFor[messaging.Recipients](), reflect.TypeFor[messaging.Request](), reflect.TypeFor[messaging.Response](),
	reflect.TypeFor[messaging.RetryPolicy](), reflect.TypeFor[messaging.Schedule](), reflect.TypeFor[messaging.TransactionalListParams](),
	reflect.TypeFor[messaging.TransactionalMessage](), reflect.TypeFor[messaging.TransactionalService](),
	reflect.TypeFor[messaging.TransportError](), reflect.TypeFor[messaging.ValidationError](),
}

func TestZeroValuesOfAllTypesAreTested(t *testing.T) {
	exported, err := os.ReadFile("testdata/api.txt")
	require.NoError(t, err)
	tested := []string{"Extra", "Limiter", "Option", "RequestOption", "SharedOption"} // an alias, and interfaces
	for _, typ := range exportedTypes {
		name, _, _ := strings.Cut(typ.Name(), "[")
		tested = append(tested, name)
	}
	for _, line := range regexp.MustCompile(`(?m)^type (\w+)`).FindAllStringSubmatch(string(exported), -1) {
		assert.Contains(t, tested, line[1])
	}
}

// discardState is where a Format method writes to.
type discardState struct{ io.Writer }

func (discardState) Width() (int, bool)     { return 0, false }
func (discardState) Precision() (int, bool) { return 0, false }
func (discardState) Flag(int) bool          { return false }

// plainArguments are arguments for the methods of this package, by type. Any other argument
// is zero.
var plainArguments = map[reflect.Type]reflect.Value{
	reflect.TypeFor[context.Context](): reflect.ValueOf(context.Background()),
	reflect.TypeFor[fmt.State]():       reflect.ValueOf(discardState{io.Discard}),
	reflect.TypeFor[[]byte]():          reflect.ValueOf([]byte("{}")),
	reflect.TypeFor[error]():           reflect.ValueOf(io.EOF),
}

// panicOf calls a method, and returns what it panics with.
func panicOf(method reflect.Value) (panicked any) {
	defer func() { panicked = recover() }()
	var args []reflect.Value
	for i := range method.Type().NumIn() {
		in := method.Type().In(i)
		if method.Type().IsVariadic() && i == method.Type().NumIn()-1 {
			break
		}
		arg, ok := plainArguments[in]
		if !ok {
			arg = reflect.Zero(in)
		}
		args = append(args, arg)
	}
	method.Call(args)
	return nil
}

// A method of a nil pointer or a zero value works, or it panics and says what was not
// initialized. Go does that itself for a nil pointer to a type whose methods take a value.
func TestZeroValuesSayWhatIsNotInitialized(t *testing.T) {
	for _, typ := range exportedTypes {
		for name, value := range map[string]reflect.Value{"nil": reflect.Zero(reflect.PointerTo(typ)), "zero": reflect.New(typ)} {
			for i := range value.NumMethod() {
				method := value.Type().Method(i).Name
				t.Run(fmt.Sprintf("%s %v, %s", name, value.Type(), method), func(t *testing.T) {
					if panicked := panicOf(value.Method(i)); panicked != nil {
						assert.Regexp(t, `^messaging: \*messaging\.\w+ is not initialized: |called using nil \*\w+ pointer$`, fmt.Sprint(panicked))
					}
				})
			}
		}
	}
}

// Every service has to be told apart from a working one, including those that are added.
func TestZeroClientHasNoServiceThatWorks(t *testing.T) {
	client := reflect.ValueOf(new(messaging.Client)).Elem()
	for i := range client.NumField() {
		field := client.Type().Field(i)
		if !field.IsExported() {
			continue
		}
		for _, service := range []reflect.Value{client.Field(i), reflect.New(field.Type.Elem())} {
			for m := range service.NumMethod() {
				assert.Equal(t, fmt.Sprintf("messaging: %v is not initialized: use a Client that NewClient returned", field.Type),
					panicOf(service.Method(m)), "%s.%s", field.Name, service.Type().Method(m).Name)
			}
		}
	}
	assert.PanicsWithValue(t, "messaging: *messaging.Client is not initialized: use a Client that NewClient returned", func() {
		_, _ = new(messaging.Client).Do(t.Context(), messaging.Request{})
	})
	assert.PanicsWithValue(t, "messaging: *messaging.Client is not initialized: use a Client that NewClient returned", func() {
		_, _ = (*messaging.Client)(nil).Send(t.Context(), nil)
	})
}

func TestZeroErrorsMatchNothing(t *testing.T) {
	for _, none := range []error{(*messaging.APIError)(nil), (*messaging.TransportError)(nil), (*messaging.DecodeError)(nil),
		(*messaging.GuardError)(nil), (*messaging.PageError)(nil), (*messaging.ValidationError)(nil)} {
		for _, err := range []error{none, fmt.Errorf("wrapped: %w", none), &messaging.PageError{Err: none}} {
			assert.NotPanics(t, func() {
				assert.NotEmpty(t, fmt.Sprintf("%v %+v %s", err, err, err))
				assert.Equal(t, messaging.DeliveryUnknown, messaging.DeliveryOf(err), "%T", none)
				assert.Equal(t, messaging.NextCheck, messaging.NextStepOf(err), "%T", none)
				assert.NotErrorIs(t, err, messaging.ErrUnauthorized)
				assert.NotErrorIs(t, err, messaging.ErrValidation)
				assert.NotErrorIs(t, err, io.EOF)
				assert.False(t, errors.As(err, new(*os.PathError)))
			})
		}
	}
}
