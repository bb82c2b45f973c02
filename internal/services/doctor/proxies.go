package doctor

import "context"

// checkProxies warns about a listener that cannot distinguish its clients behind a proxy.
func checkProxies(_ context.Context, t Target) []Result {
	if !t.SharesAddresses {
		return nil
	}
	return []Result{{
		Name: "proxies", Status: Warning,
		Detail: "no proxy is trusted: behind a proxy, all clients have its address, and ten wrong passwords lock everybody " +
			"out of the admin UI",
		Advice: "set the proxy's network in LIVEGRAPH_API_TRUSTED_PROXIES; without a proxy, an address that sends " +
			"nothing, such as 192.0.2.1/32",
	}}
}
