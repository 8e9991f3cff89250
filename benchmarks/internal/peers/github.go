package peers

import (
	"context"
	"fmt"
	"net/http"

	"github.com/google/go-github/v89/github"

	"github.com/messaging-go/messaging/benchmarks/internal/canned"
)

// GitHub is go-github, which lists milestones.
var GitHub = Peer{
	Name:    "go-github",
	New:     newGitHub,
	Service: created(githubFormat, func(row string) string { return row }),
	Sends: Request{"/repos/acme/orders/milestones", applicationJSON,
		`{"title":"Orders","description":"Everything about orders"}` + "\n"},
}

var githubFormat = canned.Format{
	Row: func(i int) string {
		p := canned.NewPerson(i)
		return fmt.Sprintf(`{"url":"https://api.github.example.com/repos/acme/orders/milestones/%d","id":%s,"number":%d,"state":"open",`+
			`"title":"%s","description":"%s","created_at":"%s","updated_at":"%s","due_on":"%s"}`,
			i, canned.Number, i, p.LastName, p.Email, p.Created.Format(canned.Stamp), p.Updated.Format(canned.Stamp), p.Seen.Format(canned.Stamp))
	},
	Frame: func(p canned.Page, header http.Header) (head, tail string) {
		if p.Next().Exists() {
			const path = "/repos/acme/orders/milestones"
			header.Set("Link", fmt.Sprintf(`<%s%s?page=%d&per_page=%d>; rel="next", <%s%s?page=%d&per_page=%d>; rel="last"`,
				p.Base, path, p.PageNumber()+1, p.PerPage, p.Base, path, (p.Total+p.PerPage-1)/p.PerPage, p.PerPage))
		}
		return `[`, `]`
	},
	Ask:  canned.AskNumbered,
	Path: func(p canned.Page) string { return canned.NumberedPath("/repos/acme/orders/milestones", p) },
}

type githubClient struct{ client *github.Client }

func newGitHub(base string) (Client, error) {
	client, err := github.NewClient(github.WithURLs(github.Ptr(base+"/"), nil))
	return githubClient{client}, err
}

func (c githubClient) Walk(ctx context.Context, perPage int) (rows int, err error) {
	options := &github.MilestoneListOptions{ListOptions: github.ListOptions{PerPage: perPage}}
	return count(c.client.Issues.ListMilestonesIter(ctx, "acme", "orders", options))
}

func (c githubClient) Call(ctx context.Context) error {
	_, _, err := c.client.Issues.CreateMilestone(ctx, "acme", "orders",
		&github.Milestone{Title: github.Ptr("Orders"), Description: github.Ptr("Everything about orders")})
	return err
}
