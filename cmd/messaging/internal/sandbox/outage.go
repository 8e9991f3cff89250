package sandbox

import "time"

// MaxOutage is the longest outage.
const MaxOutage = time.Hour

// CheckOutage returns a *[RuleError] if an outage cannot have the duration.
func CheckOutage(d time.Duration) error {
	if d <= 0 || d > MaxOutage {
		return ruleError("for", "must be more than 0 and at most %v", MaxOutage)
	}
	return nil
}

// Outage closes the port of the service and its connections for a duration. If there is
// an outage, the duration replaces the rest of it.
func (b *Sandbox) Outage(d time.Duration) error {
	if err := CheckOutage(d); err != nil {
		return err
	}
	b.port.outage(d)
	b.History.Touch()
	return nil
}

// OutageUntil returns the end of the outage, or the zero time.
func (b *Sandbox) OutageUntil() time.Time { return b.port.outageUntil() }
