package main

// section is one part of the page. To add one, add a benchmark with the units of page.go, a line
// below, and a template sections/<id>.md.tmpl whose first line is the heading.
type section struct {
	id       string
	packages []string // where its benchmarks are
	bench    string   // regular expression of its benchmarks
	args     []string // further arguments of go test
	asked    bool     // takes long: runs only if it is named
}

// once runs a benchmark for one round; it repeats measurements itself.
var once = []string{"-benchtime", "1x"}

// whole is the package of the benchmarks of the whole service.
var whole = []string{"./test/bench"}

// sections in the order of the page.
var sections = []section{
	{
		id: "lived", packages: whole, bench: "^BenchmarkLived$", args: append([]string{"-timeout", "240m"}, once...),
		asked: true,
	},
	{id: "pipeline", packages: whole, bench: "^BenchmarkPipeline$", args: once},
	{id: "ingest", packages: whole, bench: "^BenchmarkIngest$", args: once},
	{id: "rivals", packages: whole, bench: "^BenchmarkRivals$", args: once},
	{id: "freshness", packages: whole, bench: "^BenchmarkFreshness$", args: once},
	{id: "dashboards", packages: whole, bench: "^BenchmarkDashboards$", args: once},
	{id: "hertz", packages: whole, bench: "^BenchmarkHertz$", args: append([]string{"-timeout", "30m"}, once...)},
	{id: "scrape", packages: whole, bench: "^BenchmarkScrape$", args: once},
	{id: "access", packages: whole, bench: "^BenchmarkAccess$", args: once},
	{
		id: "outage", packages: whole, bench: "^BenchmarkOutage$", args: append([]string{"-timeout", "40m"}, once...),
		asked: true,
	},
	{id: "memory", packages: whole, bench: "^BenchmarkMemory$", args: append([]string{"-timeout", "20m"}, once...)},
	{id: "overload", packages: whole, bench: "^BenchmarkOverload$", args: once},
	{id: "commands", packages: whole, bench: "^BenchmarkCommands$", args: append([]string{"-timeout", "20m"}, once...)},
	{
		id: "command-scale", packages: whole, bench: "^BenchmarkCommandScale$",
		args: append([]string{"-timeout", "20m"}, once...),
	},
	{
		id: "workspaces", packages: whole, bench: "^BenchmarkWorkspaces$",
		args: append([]string{"-timeout", "60m"}, once...), asked: true,
	},
	{id: "graph-reads", packages: whole, bench: "^BenchmarkGraphReads$", args: once},
	{id: "retrieval", packages: whole, bench: "^BenchmarkRetrieval$", args: append([]string{"-timeout", "90m"}, once...)},
	{
		id: "large-retrieval", packages: whole, bench: "^BenchmarkRetrievalLarge$",
		args: append([]string{"-timeout", "60m"}, once...), asked: true,
	},
	{
		id: "models", packages: []string{"./internal/retrieval"}, bench: "^BenchmarkModels$",
		args: append([]string{"-timeout", "120m"}, once...), asked: true,
	},
	{
		id: "text-recall", packages: []string{"./storage/postgres/textindex"}, bench: "^BenchmarkTextRecall$",
		args: append([]string{"-timeout", "60m"}, once...), asked: true,
	},
	{id: "disk", packages: whole, bench: "^BenchmarkDisk$", args: once},
	{id: "starts", packages: whole, bench: "^BenchmarkStarts$", args: once},
	{
		id: "parts", packages: []string{"./schemas/pointblock", "./ingest"},
		bench: "^Benchmark(ParseJSON|AcceptJSON|ParseLines|AcceptLines|Encode|Decode|Columns)$",
		args:  []string{"-cpu", "1", "-benchtime", "300ms", "-count", "3"},
	},
}
