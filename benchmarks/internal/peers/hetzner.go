package peers

import (
	"context"
	"fmt"
	"net/http"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"

	"github.com/messaging-go/messaging/benchmarks/internal/canned"
)

// Hetzner is the client of Hetzner Cloud, which lists certificates.
var Hetzner = Peer{
	Name:    "hcloud",
	New:     newHetzner,
	Service: created(hetznerFormat, func(string) string { return `{"ssh_key":` + hetznerKey + `}` }),
	Sends: Request{"/ssh_keys", applicationJSON,
		`{"name":"orders","public_key":"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1Zt orders@example.com"}`},
}

const hetznerKey = `{"id":7,"name":"orders","fingerprint":"b7:2f:30:a0:2f:6c:58:6c:21:04:58:61:ba:06:3b:2f",` +
	`"public_key":"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1Zt orders@example.com","labels":{},"created":"2024-01-01T08:00:00Z"}`

var hetznerFormat = canned.Format{
	Row: func(i int) string {
		p := canned.NewPerson(i)
		return fmt.Sprintf(`{"id":%s,"name":"%s","labels":{},"type":"uploaded","certificate":"%s","created":"%s","not_valid_before":"%s",`+
			`"not_valid_after":"%s","domain_names":["%s.example.com"],"fingerprint":"%08d","status":null,"used_by":[]}`,
			canned.Number, p.LastName, p.Email, p.Created.Format(canned.Stamp), p.Updated.Format(canned.Stamp),
			p.Seen.Format(canned.Stamp), p.FirstName, i)
	},
	Frame: func(p canned.Page, _ http.Header) (head, tail string) {
		previous, next := "null", "null"
		if p.From > 0 {
			previous = fmt.Sprint(p.PageNumber() - 1)
		}
		if p.Next().Exists() {
			next = fmt.Sprint(p.PageNumber() + 1)
		}
		return `{"certificates":[`, fmt.Sprintf(`],"meta":{"pagination":{"page":%d,"per_page":%d,`+
			`"previous_page":%s,"next_page":%s,"last_page":%d,"total_entries":%d}}}`,
			p.PageNumber(), p.PerPage, previous, next, (p.Total+p.PerPage-1)/p.PerPage, p.Total)
	},
	Ask:  canned.AskNumbered,
	Path: func(p canned.Page) string { return canned.NumberedPath("/certificates", p) },
}

type hetznerClient struct{ client *hcloud.Client }

func newHetzner(base string) (Client, error) {
	return hetznerClient{hcloud.NewClient(hcloud.WithEndpoint(base), hcloud.WithToken("token"))}, nil
}

func (c hetznerClient) Walk(ctx context.Context, perPage int) (rows int, err error) {
	all, err := c.client.Certificate.AllWithOpts(ctx, hcloud.CertificateListOpts{ListOpts: hcloud.ListOpts{PerPage: perPage}})
	return len(all), err
}

func (c hetznerClient) Call(ctx context.Context) error {
	_, _, err := c.client.SSHKey.Create(ctx, hcloud.SSHKeyCreateOpts{Name: "orders",
		PublicKey: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1Zt orders@example.com"})
	return err
}
