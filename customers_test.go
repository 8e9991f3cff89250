package messaging_test

import (
	"context"
	"strings"
	"testing"

	"github.com/jarcoal/httpmock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

func TestCustomersAreLookedUpByOneIdentity(t *testing.T) {
	const ada = `{"customer_id":"c-1","email":"Ada@example.com"}`
	tests := []struct {
		name, rows string
		is         error
	}{
		{"the customer", ada, nil},
		{"no customer", ``, messaging.ErrCustomerNotFound},
		{"another customer", `{"customer_id":"c-2","email":"grace@example.com"}`, new(messaging.DecodeError)},
		{"several customers", ada + `,` + ada, new(messaging.DecodeError)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			client, mock := newMockedClient()
			found := httpmock.NewStringResponder(200, `{"success":true,"data":{"data":[`+test.rows+`]}}`)
			mock.RegisterResponderWithQuery("GET", "https://api.example.com/v1/customers", "customer_ids=c-1", found)
			mock.RegisterResponderWithQuery("GET", "https://api.example.com/v1/customers", "emails=ada@example.com", found)

			byID, errByID := client.Customers.Get(t.Context(), "c-1")
			byEmail, errByEmail := client.Customers.GetByEmail(t.Context(), "ada@example.com")

			if test.is == nil {
				require.NoError(t, errByID)
				require.NoError(t, errByEmail)
				assert.Equal(t, &messaging.Customer{CustomerID: "c-1", Email: "Ada@example.com"}, byID)
				assert.Equal(t, byID, byEmail)
				return
			}
			for _, err := range []error{errByID, errByEmail} {
				if test.is == messaging.ErrCustomerNotFound {
					assert.ErrorIs(t, err, test.is)
				} else {
					assert.IsType(t, test.is, err)
				}
			}
			assert.Nil(t, byID)
			assert.Nil(t, byEmail)
		})
	}
}

func TestCustomersAreLookedUpByAnAddressInAnyCaseOfASCII(t *testing.T) {
	const kelvin = "\u212a" // strings.EqualFold takes it for k
	tests := []struct {
		asked, listed string
		same          bool
	}{
		{"kate@example.com", "Kate@Example.COM", true},
		{"KATE@EXAMPLE.COM", "kate@example.com", true},
		{"kate@example.com", kelvin + "ate@example.com", false},
		{kelvin + "ate@example.com", "kate@example.com", false},
		{"straße@example.com", "straße@EXAMPLE.com", true},
		{"É@example.com", "é@example.com", false},
	}
	for _, test := range tests {
		t.Run(test.asked+" and "+test.listed, func(t *testing.T) {
			client, _ := scripted.NewClient(t, []scripted.Scene{scripted.Responds(200,
				`{"success":true,"data":{"data":[{"customer_id":"c-1","email":"`+test.listed+`"}]}}`)})
			customer, err := client.Customers.GetByEmail(t.Context(), test.asked)
			if test.same {
				require.NoError(t, err)
				assert.Equal(t, "c-1", customer.CustomerID)
				return
			}
			var invalid *messaging.DecodeError
			require.ErrorAs(t, err, &invalid)
		})
	}
}

func listingCustomers(p messaging.CustomerListParams) scripted.Call {
	return func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
		_, err := c.Customers.List(ctx, p, opts...)
		return err
	}
}

func TestValidationRefusesAFilterThatSelectsOthers(t *testing.T) {
	type params = messaging.CustomerListParams
	const everybody = "must have at least one value, since the service would select all customers without one"
	const blank = "must not begin or end with white space, which the service may remove"
	const two = "must not contain a comma: the service would read two values"
	requireAlwaysInvalid(t, []invalidCall{
		{"an empty list of ids selects everybody",
			listingCustomers(params{CustomerIDs: messaging.Only()}), []string{"customer_ids " + everybody}},
		{"an empty list of addresses selects everybody",
			listingCustomers(params{Emails: messaging.Only()}), []string{"emails " + everybody}},
		{"an empty id selects nobody knows whom",
			listingCustomers(params{CustomerIDs: messaging.Only("1", "")}), []string{"customer_ids.1 is required"}},
		{"an empty address selects nobody knows whom",
			listingCustomers(params{Emails: messaging.Only("", "jane@example.com")}), []string{"emails.0 is required"}},
		{"a comma splits an id",
			listingCustomers(params{CustomerIDs: messaging.Only("1", "canary,2")}), []string{"customer_ids.1 " + two}},
		{"a comma splits an address",
			listingCustomers(params{Emails: messaging.Only("canary,jane@example.com")}), []string{"emails.0 " + two}},
		{"an id that is not UTF-8 would arrive as another",
			listingCustomers(params{CustomerIDs: messaging.Only(notUTF8)}), []string{"customer_ids.0 must be valid UTF-8"}},
		{"an address that is not UTF-8 would arrive as another",
			listingCustomers(params{Emails: messaging.Only(notUTF8)}), []string{"emails.0 must be valid UTF-8"}},
		{"a blank after an id", gettingCustomer("canary "), []string{"customerID " + blank}},
		{"a tab before an id", gettingCustomer("\tcanary"), []string{"customerID " + blank}},
		{"a blank alone", gettingCustomer(" "), []string{"customerID " + blank}},
		{"a cursor that is not UTF-8 would arrive as another",
			listingCustomers(params{Cursor: notUTF8}), []string{"cursor must be valid UTF-8"}},
		{"everything that is wrong is reported at once, and by element",
			listingCustomers(params{Cursor: notUTF8, CustomerIDs: messaging.Only(), Emails: messaging.Only("", notUTF8+",")}),
			[]string{"cursor must be valid UTF-8", "customer_ids " + everybody,
				"emails.0 is required", "emails.1 must be valid UTF-8, " + two}},
		{"nobody is looked up by an empty id",
			gettingCustomer(""), []string{"customerID is required"}},
		{"one customer is not looked up by two ids",
			gettingCustomer("canary,2"), []string{"customerID " + two}},
		{"nobody is looked up by an empty address",
			gettingCustomerByEmail(""), []string{"email is required"}},
		{"one customer is not looked up by two addresses",
			gettingCustomerByEmail("canary,jane@example.com"), []string{"email " + two}},
		{"an id that is not UTF-8 names another customer",
			gettingCustomer(notUTF8), []string{"customerID must be valid UTF-8"}},
	})
}

func TestLookupRefusesAnAddressThatWouldBeMisread(t *testing.T) {
	g := scripted.NewGate(t)
	for _, address := range []string{"canary @example.com", "canary\x00@example.com", "canary\n@example.com"} {
		for _, opts := range [][]messaging.RequestOption{nil, {messaging.WithoutValidation()}} {
			err := gettingCustomerByEmail(address)(t.Context(), g.Client, opts...)
			scripted.RequireProblems(t, err, "email must not contain white space or a control character")
			err = listingCustomers(messaging.CustomerListParams{Emails: messaging.Only(address)})(t.Context(), g.Client, opts...)
			scripted.RequireProblems(t, err, "emails.0 must not contain white space or a control character")
		}
	}
	assert.Empty(t, g.Take())
	require.NotErrorIs(t, gettingCustomerByEmail("canary")(t.Context(), g.Client), messaging.ErrValidation, "the service may have stored it")
}

func TestValidationOfAnAddress(t *testing.T) {
	for address, valid := range map[string]bool{
		"a@b": true, "ada@example.com": true, "ada@münchen.test": true, "ada@xn--mnchen-3ya.test": true, "o'brien+x@a.b": true, "ä@b.c": true,
		"a": false, "@": false, "a@": false, "@b": false, "a@b@c": false, "a@x..com": false, "a@.com": false, "a@x.com.": false, "a b@c.d": false,
		"a\u200b@b.c": false, "a@b\u202e.c": false, "a\u00a0@b.c": false, "<a@b.c>": false, "a,b@c.d": false, "a;b@c.d": false, "a:b@c.d": false,
		"(a)@b.c": false, "a@[b]": false, `"a"@b.c`: false, `a\b@c.d`: false, "a@b.c\x00": false, "": false, "яна@пример.рф": true,
		" a@b.c": false, "a@b.c\n": false, "a@b.c\r\nBcc:all@example.com": false, "a\x7f@b.c": false,
	} {
		_, err := messaging.EventTriggerParams{EventID: "e", Email: address}.Prepare()
		assert.Equal(t, valid, err == nil, "%q", address)
	}
}

func gettingCustomer(id string) scripted.Call {
	return func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
		_, err := c.Customers.Get(ctx, id, opts...)
		return err
	}
}

func gettingCustomerByEmail(email string) scripted.Call {
	return func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
		_, err := c.Customers.GetByEmail(ctx, email, opts...)
		return err
	}
}

func TestValidationRefusesAFilterTooLongForAURL(t *testing.T) {
	type params = messaging.CustomerListParams
	const tooLong = " makes the query longer than 6000 bytes: ask for fewer at a time, see slices.Chunk"
	long, longer := strings.Repeat(canary, 1000), messaging.Only(strings.Repeat(canary, 1100))
	requireAlwaysInvalid(t, []invalidCall{
		{"by its ids", listingCustomers(params{CustomerIDs: messaging.Only(long)}), []string{"customer_ids" + tooLong}},
		{"by its addresses", listingCustomers(params{Emails: messaging.Only(long)}), []string{"emails" + tooLong}},
		{"by its ids more than by its addresses", listingCustomers(params{CustomerIDs: longer, Emails: messaging.Only(long)}),
			[]string{"customer_ids" + tooLong}},
		{"by its addresses more than by its ids", listingCustomers(params{CustomerIDs: messaging.Only(long), Emails: longer}),
			[]string{"emails" + tooLong}},
		{"by one byte", listingCustomers(params{CustomerIDs: messaging.Only(strings.Repeat("1", 6001-len("customer_ids=")))}),
			[]string{"customer_ids" + tooLong}},
		{"by the id of one customer", gettingCustomer(long), []string{"customerID makes the query longer than 6000 bytes"}},
		{"by the address of one customer", gettingCustomerByEmail(long + "@example.com"),
			[]string{"email makes the query longer than 6000 bytes"}},
		{"by what escaping adds to it", listingCustomers(params{Emails: messaging.Only(strings.Repeat("@", 2100))}),
			[]string{"emails" + tooLong}},
	})
}

func TestValidationPassesALongQueryWithoutFilters(t *testing.T) {
	g := scripted.NewGate(t)
	atTheLimit := strings.Repeat("1", 6000-len("customer_ids="))
	require.Equal(t, 6000, len(g.RequireSent(t, listingCustomers(messaging.CustomerListParams{CustomerIDs: messaging.Only(atTheLimit)}))))
	longCursor := strings.Repeat("c", 7000)
	assert.Equal(t, "cursor="+longCursor, g.RequireSent(t, listingCustomers(messaging.CustomerListParams{Cursor: longCursor})))
}
