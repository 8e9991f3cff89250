package messaging

// The names of the operations, as [Call].Operation, [CallInfo].Operation and [Prepared.Operation] hold
// them. For [Client.Do], the name is [Request].Operation.
const (
	OpSendEmailBroadcast        = "send email broadcast"        // BroadcastsService.SendEmail
	OpSendPushBroadcast         = "send push broadcast"         // BroadcastsService.SendPush
	OpCreateEvent               = "create event"                // EventsService.Create, and Ensure if it creates the event
	OpTriggerEvent              = "trigger event"               // EventsService.Trigger
	OpListEvents                = "list events"                 // EventsService.List, Pages and All
	OpGetEvent                  = "get event"                   // EventsService.GetByName, and Ensure when it looks up the event
	OpListCustomers             = "list customers"              // CustomersService.List, Pages and All
	OpGetCustomer               = "get customer"                // CustomersService.Get and GetByEmail
	OpListTransactionalMessages = "list transactional messages" // TransactionalService.List, Pages and All
)
