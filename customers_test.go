package messaging_test

import (
	"testing"

	"github.com/jarcoal/httpmock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
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
