package admin

import "time"

// Attempts reports how many logins may fail. The zero value is the default.
type Attempts struct {
	// PerAddress of one address (of IPv6: network of 64 bits) in AddressWindow; default 10
	// in 5 minutes.
	PerAddress    int
	AddressWindow time.Duration
	// PerName of one name in NameWindow, from wherever; default 50 in 15 minutes. An
	// address from which the name's last login came is not held up by them: else anyone who
	// knows a name could keep its operator out.
	PerName    int
	NameWindow time.Duration
	// Kept is how many more an operator has in AddressWindow from the network of the last
	// login, when that address has none left; default 3. Behind a proxy that is not trusted
	// all callers have one address.
	Kept int
}

// Defaults of Attempts.
const (
	perAddress    = 10
	addressWindow = 5 * time.Minute
	perName       = 50
	nameWindow    = 15 * time.Minute
	keptAttempts  = 3
)
