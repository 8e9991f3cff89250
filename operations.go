package messaging

// The names of the operations, as [Call].Op, [CallInfo].Op and [Prepared.Operation] hold
// them. For [Client.Do], the name is [Request].Op.
const (
	OpSendEmailBroadcast        = "send email broadcast"
	OpSendPushBroadcast         = "send push broadcast"
	OpCreateEvent               = "create event"
	OpTriggerEvent              = "trigger event"
	OpListEvents                = "list events"
	OpGetEvent                  = "get event"
	OpListCustomers             = "list customers"
	OpGetCustomer               = "get customer"
	OpListTransactionalMessages = "list transactional messages"
)
