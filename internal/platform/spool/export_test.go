package spool

import "os"

// WithSync has the spool sync its files by sync.
func (o Options) WithSync(sync func(*os.File) error) Options {
	o.fsync = sync
	return o
}
