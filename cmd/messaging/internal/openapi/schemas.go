package openapi

import "maps"

// Schemas of simple values.
var (
	text       = &schema{Type: types{"string"}}
	textOrNull = &schema{Type: types{"string", "null"}}
	email      = &schema{Type: types{"string"}, Format: "email"}
	integer    = &schema{Type: types{"integer"}}
	boolean    = &schema{Type: types{"boolean"}}
	null       = &schema{Type: types{"null"}}
)

func (s *schema) about(description string) *schema {
	described := *s
	described.Description = description
	return &described
}

func ref(name string) *schema { return &schema{Ref: "#/components/schemas/" + name} }

func arrayOf(s *schema) *schema { return &schema{Type: types{"array"}, Items: s} }

// oneOrMany is a value, or an array of such values.
func oneOrMany(s *schema) *schema { return &schema{OneOf: []*schema{s, arrayOf(s)}} }

// object is an object with properties, of which some are required. The service ignores
// others.
func object(properties map[string]*schema, required ...string) *schema {
	return &schema{Type: types{"object"}, Properties: properties, Required: required}
}

// schemas are the forms of requests and responses that several operations have.
var schemas = map[string]*schema{
	"Customer": func() *schema {
		s := object(map[string]*schema{
			"customer_id": textOrNull.about("The id of the customer in your own system."), "email": {Type: types{"string", "null"}, Format: "email"},
			"first_name": textOrNull, "last_name": textOrNull, "phone_no": textOrNull.about("In international format, with a leading plus."),
			"devices": {Type: types{"array", "null"}, Items: ref("Device")}})
		s.AnyOf = []*schema{{Required: []string{"customer_id"}}, {Required: []string{"email"}}}
		return s
	}(),
	"Device": object(map[string]*schema{"device_type": text, "device_token": text}),
	"Recipient": object(map[string]*schema{"type": {Type: types{"string"}, Enum: []string{"customer", "segment"}},
		"customers": arrayOf(ref("Customer")), "segments": arrayOf(text)}, "type"),
	"ScheduleDate": object(map[string]*schema{"schedule_date": text.about("Such as 2030-01-31 09:00:00."),
		"timezone": text.about("An IANA time zone, such as Europe/Paris.")}),
	"EventParameter": object(map[string]*schema{"name": text, "type": text.about("Seen: text, numeric and timestamp."), "required": boolean},
		"name", "type"),
	"Event": object(map[string]*schema{"id": text, "name": text, "description": textOrNull,
		"parameters": {Type: types{"array", "null"}, Items: ref("EventParameter")}, "created_at": textOrNull}, "id", "name"),
	"ListedCustomer": object(map[string]*schema{"customer_id": textOrNull, "first_name": textOrNull, "last_name": textOrNull,
		"email": textOrNull, "phone_no": textOrNull, "customer_created_at": textOrNull, "updated_at": textOrNull,
		"providers": textOrNull.about("Names, separated by commas."), "last_interaction": textOrNull}),
	"TransactionalMessage": object(map[string]*schema{"id": text, "channel": text.about("Seen: email, sms and whatsapp."),
		"subject": textOrNull, "title": textOrNull, "message": textOrNull, "message_type": textOrNull, "created_at": textOrNull,
		"total_sent": integer, "total_delivered": integer, "total_failed": integer, "total_complained": integer, "total_bounced": integer},
		"id", "channel"),
	"PageMeta": object(map[string]*schema{"has_next_page": boolean, "has_prev_page": boolean, "next_page_cursor": textOrNull,
		"prev_page_cursor": textOrNull, "per_page": integer}),
	"Error": object(map[string]*schema{"success": boolean, "message": text,
		"errors": {Type: types{"object"}, Additional: arrayOf(text)}}).
		about("The form of errors is not documented: this is the sandbox's guess."),
}

// envelope is a successful response.
func envelope(data *schema, more map[string]*schema) *schema {
	properties := map[string]*schema{"success": {Type: types{"boolean"}, Const: new(true)}, "message": text, "data": data}
	maps.Copy(properties, more)
	return object(properties, "success", "message")
}

// page is a list with its meta beside the rows.
func page(row string) *schema {
	return envelope(arrayOf(ref(row)), map[string]*schema{"meta": ref("PageMeta")})
}
