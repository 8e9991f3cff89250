package peers

import (
	"context"
	"fmt"
	"net/http"

	"github.com/digitalocean/godo"

	"github.com/messaging-go/messaging/benchmarks/internal/canned"
)

// Godo is DigitalOcean's client, which lists projects.
var Godo = Peer{
	Name:    "godo",
	New:     newGodo,
	Service: created(godoFormat, func(row string) string { return `{"project":` + row + `}` }),
	Sends: Request{"/v2/projects", applicationJSON,
		`{"name":"Orders","description":"Everything about orders","purpose":"Web Application","environment":"Production"}` + "\n"},
}

var godoFormat = canned.Format{
	Row: func(i int) string {
		p := canned.NewPerson(i)
		return fmt.Sprintf(`{"id":"4e1bfbc3-dc3e-41f2-a18f-%s","owner_uuid":"99525febec065ca37b2ffe4f852fd2b2581895e7","owner_id":%d,`+
			`"name":"%s","description":"%s","purpose":"Web Application","environment":"Production","is_default":false,`+
			`"created_at":"%s","updated_at":"%s"}`,
			canned.Number, 250000+i, p.LastName, p.Email, p.Created.Format(canned.Stamp), p.Updated.Format(canned.Stamp))
	},
	Frame: func(p canned.Page, _ http.Header) (head, tail string) {
		links := ""
		if p.From > 0 {
			links += fmt.Sprintf(`"prev":"%s/v2/projects?page=%d&per_page=%d"`, p.Base, p.PageNumber()-1, p.PerPage)
		}
		if p.Next().Exists() {
			if links != "" {
				links += ","
			}
			links += fmt.Sprintf(`"next":"%s/v2/projects?page=%d&per_page=%d"`, p.Base, p.PageNumber()+1, p.PerPage)
		}
		return `{"projects":[`, fmt.Sprintf(`],"links":{"pages":{%s}},"meta":{"total":%d}}`, links, p.Total)
	},
	Ask:  canned.AskNumbered,
	Path: func(p canned.Page) string { return canned.NumberedPath("/v2/projects", p) },
}

type godoClient struct{ client *godo.Client }

func newGodo(base string) (Client, error) {
	client, err := godo.New(nil, godo.SetBaseURL(base+"/"))
	return godoClient{client}, err
}

func (c godoClient) Walk(ctx context.Context, perPage int) (rows int, err error) {
	options := &godo.ListOptions{PerPage: perPage}
	for {
		projects, resp, err := c.client.Projects.List(ctx, options)
		if err != nil {
			return rows, err
		}
		rows += len(projects)
		if resp.Links == nil || resp.Links.IsLastPage() {
			return rows, nil
		}
		page, err := resp.Links.CurrentPage()
		if err != nil {
			return rows, err
		}
		options.Page = page + 1
	}
}

func (c godoClient) Call(ctx context.Context) error {
	_, _, err := c.client.Projects.Create(ctx, &godo.CreateProjectRequest{Name: "Orders",
		Description: "Everything about orders", Purpose: "Web Application", Environment: "Production"})
	return err
}
