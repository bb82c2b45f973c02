// Package helm tests the chart in deploy/helm/livegraph with Helm's own library: it lints the chart,
// renders it with several values, decodes every object strictly into the types of the Kubernetes API, and
// checks rules that the types do not express. It needs no cluster and no network.
//
// It is a separate module, so that Helm and the types of Kubernetes are not dependencies of Livegraph.
//
// With -update it copies the alert rules and the names of the settings into the chart.
package helm
