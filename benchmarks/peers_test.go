package benchmarks

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"strings"

	"github.com/digitalocean/godo"
	"github.com/google/go-github/v89/github"
	"github.com/hetznercloud/hcloud-go/v2/hcloud"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stripe/stripe-go/v85"
	gitlab "gitlab.com/gitlab-org/api/client-go/v2"
)

// peers are the clients of other services.
var peers = []contender{
	{
		name: "godo", status: http.StatusCreated,
		frame: func(p page, _ http.Header) (head, tail string) {
			links := ""
			if p.from > 0 {
				links = fmt.Sprintf(`"prev":"%s/v2/projects?page=%d&per_page=%d",`, p.base, p.number()-1, p.perPage)
			}
			if p.hasNext() {
				links += fmt.Sprintf(`"next":"%s/v2/projects?page=%d&per_page=%d",`, p.base, p.number()+1, p.perPage)
			}
			return `{"projects":[`, fmt.Sprintf(`],"links":{"pages":{%s}},"meta":{"total":%d}}`, strings.TrimSuffix(links, ","), p.total)
		},
		connect: func(base string) (client, error) {
			client, err := godo.New(nil, godo.SetBaseURL(base+"/"))
			return godoClient{client}, err
		},
	},
	{
		name: "gitlab", status: http.StatusCreated,
		frame: func(p page, header http.Header) (head, tail string) {
			header.Set("X-Page", strconv.Itoa(p.number()))
			header.Set("X-Per-Page", strconv.Itoa(p.perPage))
			header.Set("X-Next-Page", "")
			if p.hasNext() {
				header.Set("X-Next-Page", strconv.Itoa(p.number()+1))
			}
			return `[`, `]`
		},
		connect: func(base string) (client, error) {
			client, err := gitlab.NewClient("token", gitlab.WithBaseURL(base))
			return gitlabClient{client}, err
		},
	},
	{
		name: "hcloud", status: http.StatusCreated,
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
		connect: func(base string) (client, error) {
			return hcloudClient{hcloud.NewClient(hcloud.WithEndpoint(base), hcloud.WithToken("token"))}, nil
		},
	},
	{
		name: "go-github", status: http.StatusCreated,
		frame: func(p page, header http.Header) (head, tail string) {
			if p.hasNext() {
				url := p.base + "/repos/acme/orders/milestones"
				header.Set("Link", fmt.Sprintf(`<%s?page=%d&per_page=%d>; rel="next", <%s?page=%d&per_page=%d>; rel="last"`,
					url, p.number()+1, p.perPage, url, p.last(), p.perPage))
			}
			return `[`, `]`
		},
		connect: func(base string) (client, error) {
			client, err := github.NewClient(github.WithURLs(github.Ptr(base+"/"), nil))
			return githubClient{client}, err
		},
	},
	{
		name: "stripe-go", status: http.StatusOK,
		frame: func(p page, _ http.Header) (head, tail string) {
			return `{"object":"list","url":"/v1/customers","data":[`, fmt.Sprintf(`],"has_more":%t}`, p.hasNext())
		},
		connect: func(base string) (client, error) {
			backends := stripe.NewBackendsWithConfig(&stripe.BackendConfig{URL: stripe.String(base)})
			return stripeClient{stripe.NewClient("sk_test", stripe.WithBackends(backends))}, nil
		},
	},
	{
		name: "openai-go", status: http.StatusOK,
		frame: func(p page, _ http.Header) (head, tail string) {
			return `{"object":"list","data":[`, fmt.Sprintf(`],"has_more":%t}`, p.hasNext())
		},
		connect: func(base string) (client, error) {
			return openaiClient{openai.NewClient(option.WithBaseURL(base), option.WithAPIKey("key"))}, nil
		},
	},
}

// godoClient is DigitalOcean's, and lists projects.
type godoClient struct{ *godo.Client }

func (c godoClient) walk(ctx context.Context, perPage int) (rows int, err error) {
	options := &godo.ListOptions{PerPage: perPage}
	for {
		projects, resp, err := c.Projects.List(ctx, options)
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

func (c godoClient) call(ctx context.Context) error {
	_, _, err := c.Projects.Create(ctx, &godo.CreateProjectRequest{Name: "Orders",
		Description: "Everything about orders", Purpose: "Web Application", Environment: "Production"})
	return err
}

// gitlabClient lists milestones. Like the SDK, it is built on go-retryablehttp.
type gitlabClient struct{ *gitlab.Client }

func (c gitlabClient) walk(ctx context.Context, perPage int) (rows int, err error) {
	options := &gitlab.ListMilestonesOptions{ListOptions: gitlab.ListOptions{PerPage: int64(perPage)}}
	return count(gitlab.Scan2(func(page gitlab.PaginationOptionFunc) ([]*gitlab.Milestone, *gitlab.Response, error) {
		return c.Milestones.ListMilestones(1, options, page, gitlab.WithContext(ctx))
	}))
}

func (c gitlabClient) call(ctx context.Context) error {
	_, _, err := c.Milestones.CreateMilestone(1, &gitlab.CreateMilestoneOptions{
		Title: gitlab.Ptr("Orders"), Description: gitlab.Ptr("Everything about orders")}, gitlab.WithContext(ctx))
	return err
}

// hcloudClient is that of Hetzner Cloud, and lists certificates.
type hcloudClient struct{ *hcloud.Client }

func (c hcloudClient) walk(ctx context.Context, perPage int) (rows int, err error) {
	all, err := c.Certificate.AllWithOpts(ctx, hcloud.CertificateListOpts{ListOpts: hcloud.ListOpts{PerPage: perPage}})
	return len(all), err
}

func (c hcloudClient) call(ctx context.Context) error {
	_, _, err := c.SSHKey.Create(ctx, hcloud.SSHKeyCreateOpts{Name: "orders",
		PublicKey: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1Zt orders@example.com"})
	return err
}

// githubClient is go-github, and lists milestones.
type githubClient struct{ *github.Client }

func (c githubClient) walk(ctx context.Context, perPage int) (rows int, err error) {
	options := &github.MilestoneListOptions{ListOptions: github.ListOptions{PerPage: perPage}}
	return count(c.Issues.ListMilestonesIter(ctx, "acme", "orders", options))
}

func (c githubClient) call(ctx context.Context) error {
	_, _, err := c.Issues.CreateMilestone(ctx, "acme", "orders",
		&github.Milestone{Title: github.Ptr("Orders"), Description: github.Ptr("Everything about orders")})
	return err
}

// stripeClient lists customers.
type stripeClient struct{ *stripe.Client }

func (c stripeClient) walk(ctx context.Context, perPage int) (rows int, err error) {
	params := &stripe.CustomerListParams{}
	params.Limit = stripe.Int64(int64(perPage))
	return count(iter.Seq2[*stripe.Customer, error](c.V1Customers.List(ctx, params).All(ctx)))
}

func (c stripeClient) call(ctx context.Context) error {
	_, err := c.V1Customers.Create(ctx, &stripe.CustomerCreateParams{
		Email: stripe.String("ada@example.com"), Name: stripe.String("Ada Lovelace")})
	return err
}

// openaiClient lists files.
type openaiClient struct{ openai.Client }

func (c openaiClient) walk(ctx context.Context, perPage int) (rows int, err error) {
	pager := c.Files.ListAutoPaging(ctx, openai.FileListParams{Limit: openai.Int(int64(perPage))})
	for pager.Next() {
		_ = pager.Current()
		rows++
	}
	return rows, pager.Err()
}

func (c openaiClient) call(ctx context.Context) error {
	_, err := c.VectorStores.New(ctx, openai.VectorStoreNewParams{Name: openai.String("orders")})
	return err
}
