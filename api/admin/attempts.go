package admin

import "time"

// Attempts limits failed logins. A zero field has its default.
type Attempts struct {
	// PerAddress is the limit of one address (IPv6: one /64 network) in AddressWindow; default
	// 10 in 5 minutes.
	PerAddress    int
	AddressWindow time.Duration
	// PerName is the limit of one name in NameWindow, from all addresses; default 50 in 15
	// minutes. It does not apply to the network of the name's last login. Otherwise anyone who
	// knows a name could lock out its operator.
	PerName    int
	NameWindow time.Duration
	// Reserved is the number of additional attempts of one name in AddressWindow, from the network
	// of its last login after PerAddress is reached; default 3. Behind a proxy that is not
	// trusted, all callers have the same address.
	Reserved int
}

// Defaults of Attempts.
const (
	perAddress       = 10
	addressWindow    = 5 * time.Minute
	perName          = 50
	nameWindow       = 15 * time.Minute
	reservedAttempts = 3
)
