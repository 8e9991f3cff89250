package peers

// All returns all peers except Messaging.
func All() []Peer { return []Peer{Godo, GitLab, Hetzner, GitHub, Stripe, OpenAI} }
