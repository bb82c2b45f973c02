package spool

import "os"

// WithSync replaces the function that syncs files.
func (o Options) WithSync(sync func(*os.File) error) Options {
	o.fsync = sync
	return o
}
