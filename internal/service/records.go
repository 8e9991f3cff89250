package service

// The records that the lists of the service have.
var (
	Event = &Object{Name: "Event", Members: []Member{
		{Name: "id", Required: true},
		{Name: "name", Required: true},
		{Name: "description"},
		{Name: "parameters", Kind: List, Of: Parameter},
		{Name: "created_at"},
	}}
	ListedCustomer = &Object{Name: "ListedCustomer", Members: []Member{
		{Name: "customer_id"},
		{Name: "first_name"},
		{Name: "last_name"},
		{Name: "email"},
		{Name: "phone_no"},
		{Name: "customer_created_at"},
		{Name: "updated_at"},
		{Name: "providers", Note: "Names, separated by commas."},
		{Name: "last_interaction"},
	}}
	TransactionalMessage = &Object{Name: "TransactionalMessage", Members: []Member{
		{Name: "id", Required: true},
		{Name: "channel", Required: true, Note: "Seen: email, sms and whatsapp."},
		{Name: "subject"},
		{Name: "title"},
		{Name: "message"},
		{Name: "message_type"},
		{Name: "created_at"},
		{Name: "total_sent", Kind: Number},
		{Name: "total_delivered", Kind: Number},
		{Name: "total_failed", Kind: Number},
		{Name: "total_complained", Kind: Number},
		{Name: "total_bounced", Kind: Number},
	}}
)

// pageQuery is the query of every list.
var pageQuery = []Member{
	{Name: "per_page", Kind: Number, Note: "The size of a page; the default is 20."},
	{Name: "cursor", Note: "A cursor of an earlier page."},
}

// customerFilters are what the list of customers takes besides.
var customerFilters = []Member{
	{Name: "customer_ids", Note: "Ids, separated by commas."},
	{Name: "emails", Note: "Email addresses, separated by commas."},
}
