package kafka

import "context"

// ProduceAudit puts records into topic audit and waits until all in-sync replicas have
// all of them, ProduceTimeout at most. An error is fault.Unavailable, at once when it
// is hopeless (see ProducePoints); any of the records may then be in the log all the
// same, and to repeat the call is safe but for duplicates, which the consumer does not
// mind. The values must not be written again after an error.
func (c *Client) ProduceAudit(ctx context.Context, records []Record) error {
	return c.produceGraph(ctx, c.audit, MaxAuditBytes, records, c.produceOnce)
}
