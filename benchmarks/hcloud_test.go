package benchmarks

import (
	"context"
	"fmt"
	"net/http"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"
)

// hcloudPeer is the client of Hetzner Cloud, which lists certificates.
var hcloudPeer = contender{
	name: "hcloud",
	service: service{
		row: func(p person) string {
			return fmt.Sprintf(`{"id":%s,"name":"%s","labels":{},"type":"uploaded","certificate":"%s","created":"%s","not_valid_before":"%s",`+
				`"not_valid_after":"%s","domain_names":["%s.example.com"],"fingerprint":"%08d","status":null,"used_by":[]}`,
				p.number, p.last, p.email, p.created.Format(stamp), p.updated.Format(stamp), p.seen.Format(stamp), p.first, p.index)
		},
		frame: func(p page, _ http.Header) (head, tail string) {
			previous, next := "null", "null"
			if p.from > 0 {
				previous = fmt.Sprint(p.number() - 1)
			}
			if p.hasNext() {
				next = fmt.Sprint(p.number() + 1)
			}
			return `{"certificates":[`, fmt.Sprintf(`],"meta":{"pagination":{"page":%d,"per_page":%d,`+
				`"previous_page":%s,"next_page":%s,"last_page":%d,"total_entries":%d}}}`,
				p.number(), p.perPage, previous, next, p.last(), p.total)
		},
		response: `{"ssh_key":{"id":7,"name":"orders","fingerprint":"b7:2f:30:a0:2f:6c:58:6c:21:04:58:61:ba:06:3b:2f",` +
			`"public_key":"` + hcloudKey + `","labels":{},"created":"2024-01-01T08:00:00Z"}}`,
		status: http.StatusCreated,
	},
	connect: func(base string) (client, error) {
		return hcloudClient{hcloud.NewClient(hcloud.WithEndpoint(base), hcloud.WithToken("token"))}, nil
	},
}

const hcloudKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1Zt orders@example.com"

type hcloudClient struct{ *hcloud.Client }

func (c hcloudClient) walk(ctx context.Context, perPage int) (rows int, err error) {
	all, err := c.Certificate.AllWithOpts(ctx, hcloud.CertificateListOpts{ListOpts: hcloud.ListOpts{PerPage: perPage}})
	return len(all), err
}

func (c hcloudClient) call(ctx context.Context) error {
	_, _, err := c.SSHKey.Create(ctx, hcloud.SSHKeyCreateOpts{Name: "orders", PublicKey: hcloudKey})
	return err
}
