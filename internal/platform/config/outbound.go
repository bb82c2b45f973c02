package config

import "net/netip"

// Outbound holds the settings of requests to addresses that tenants choose.
type Outbound struct {
	AllowedNetworks []string `help:"Networks with private addresses to which requests of tenants may be sent, in CIDR notation, such as 10.1.0.0/16: those of Alertmanagers and webhooks. By default only public addresses are allowed." env:"LIVEGRAPH_OUTBOUND_ALLOWED_NETWORKS"`
}

// Networks returns the allowed networks.
func (o *Outbound) Networks() []netip.Prefix {
	networks := make([]netip.Prefix, 0, len(o.AllowedNetworks))
	for _, text := range o.AllowedNetworks {
		if network, err := netip.ParsePrefix(text); err == nil { // validate has checked it
			networks = append(networks, network)
		}
	}
	return networks
}

func (o *Outbound) validate(invalid func(setting, format string, args ...any)) {
	for _, text := range o.AllowedNetworks {
		if _, err := netip.ParsePrefix(text); err != nil {
			invalid("outbound-allowed-networks", "%q is not a network such as 10.1.0.0/16 or fd00::/8", text)
		}
	}
}
