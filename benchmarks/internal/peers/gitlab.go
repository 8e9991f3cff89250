package peers

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"

	"github.com/messaging-go/messaging/benchmarks/internal/canned"
)

// GitLab is GitLab's client, which lists milestones. Like the SDK, it is built on
// go-retryablehttp.
var GitLab = Peer{
	Name:    "gitlab",
	New:     newGitLab,
	Service: created(gitlabFormat, func(row string) string { return row }),
	Sends: Request{"/api/v4/projects/1/milestones", applicationJSON,
		`{"title":"Orders","description":"Everything about orders"}`},
}

var gitlabFormat = canned.Format{
	Row: func(i int) string {
		p := canned.NewPerson(i)
		return fmt.Sprintf(`{"id":%s,"iid":%d,"project_id":16,"title":"%s","description":"%s","state":"active",`+
			`"created_at":"%s","updated_at":"%s","due_date":"%s","start_date":"%s","expired":false,`+
			`"web_url":"https://gitlab.example.com/group/project/-/milestones/%d"}`,
			canned.Number, i, p.LastName, p.Email, p.Created.Format(canned.Stamp), p.Updated.Format(canned.Stamp),
			p.Seen.Format("2006-01-02"), p.Created.Format("2006-01-02"), i)
	},
	Frame: func(p canned.Page, header http.Header) (head, tail string) {
		header.Set("X-Page", strconv.Itoa(p.PageNumber()))
		header.Set("X-Per-Page", strconv.Itoa(p.PerPage))
		header.Set("X-Next-Page", "")
		if p.Next().Exists() {
			header.Set("X-Next-Page", strconv.Itoa(p.PageNumber()+1))
		}
		return `[`, `]`
	},
	Ask:  canned.AskNumbered,
	Path: func(p canned.Page) string { return canned.NumberedPath("/api/v4/projects/1/milestones", p) },
}

type gitlabClient struct{ client *gitlab.Client }

func newGitLab(base string) (Client, error) {
	client, err := gitlab.NewClient("token", gitlab.WithBaseURL(base))
	return gitlabClient{client}, err
}

func (c gitlabClient) Walk(ctx context.Context, perPage int) (rows int, err error) {
	options := &gitlab.ListMilestonesOptions{ListOptions: gitlab.ListOptions{PerPage: int64(perPage)}}
	return count(gitlab.Scan2(func(page gitlab.PaginationOptionFunc) ([]*gitlab.Milestone, *gitlab.Response, error) {
		return c.client.Milestones.ListMilestones(1, options, page, gitlab.WithContext(ctx))
	}))
}

func (c gitlabClient) Call(ctx context.Context) error {
	_, _, err := c.client.Milestones.CreateMilestone(1, &gitlab.CreateMilestoneOptions{
		Title: gitlab.Ptr("Orders"), Description: gitlab.Ptr("Everything about orders")}, gitlab.WithContext(ctx))
	return err
}
