package fake

func listCustomers(s *state, in *input) response {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows, meta := page(in, s.customers.selected(in.query.Get("customer_ids"), in.query.Get("emails")))
	if len(in.problems) > 0 {
		return invalidResponse(in.problems)
	}
	return successResponse("Customers fetched successfully", map[string]any{"data": rows, "meta": meta})
}

func listEvents(s *state, in *input) response {
	s.mu.Lock()
	defer s.mu.Unlock()
	return list(in, "Company events fetched successfully", s.events)
}

func listTransactional(s *state, in *input) response {
	s.mu.Lock()
	defer s.mu.Unlock()
	return list(in, "Transactional Messages fetched successfully", s.messages)
}

// list returns a page of a list without filters.
func list[T any](in *input, message string, all []T) response {
	rows, meta := page(in, all)
	if len(in.problems) > 0 {
		return invalidResponse(in.problems)
	}
	return listResponse(message, rows, meta)
}
