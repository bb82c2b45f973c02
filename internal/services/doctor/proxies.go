package doctor

import "context"

// checkProxies warns of a listener whose callers cannot be told apart behind a proxy.
func checkProxies(_ context.Context, t Target) []Result {
	if !t.SharesAddresses {
		return nil
	}
	return []Result{{
		Name: "proxies", Status: Warning,
		Detail: "no proxy is trusted: behind one, all callers have its address, and ten wrong passwords keep everybody out " +
			"of the administration page",
		Advice: "name the proxy's network in LIVEGRAPH_API_TRUSTED_PROXIES; without a proxy, an address that sends " +
			"nothing, such as 192.0.2.1/32",
	}}
}
