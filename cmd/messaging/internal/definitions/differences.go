package definitions

import (
	"fmt"
	"slices"
	"strings"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
)

// differences returns why an event of an account cannot be triggered as wanted describes it.
// As for [messaging.EventsService.Ensure], descriptions and additional optional parameters
// do not matter.
func differences(wanted messaging.EventCreateParams, account messaging.Event) (list []string) {
	named := func(name string, parameters []messaging.EventParameter) int {
		return slices.IndexFunc(parameters, func(p messaging.EventParameter) bool { return p.Name == name })
	}
	for _, p := range wanted.Parameters {
		i := named(p.Name, account.Parameters)
		if i < 0 {
			list = append(list, fmt.Sprintf("parameter %s is missing in the account", visible.Quote(p.Name)))
			continue
		}
		if found := account.Parameters[i]; !strings.EqualFold(string(found.Type), string(p.Type)) {
			list = append(list, fmt.Sprintf("parameter %s is %s in the account, not %s", visible.Quote(p.Name), found.Type, p.Type))
		} else if found.Required && !p.Required {
			list = append(list, fmt.Sprintf("parameter %s is required in the account", visible.Quote(p.Name)))
		}
	}
	for _, p := range account.Parameters {
		if p.Required && named(p.Name, wanted.Parameters) < 0 {
			list = append(list, fmt.Sprintf("the account requires another parameter, %s", visible.Quote(p.Name)))
		}
	}
	return list
}
