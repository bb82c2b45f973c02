package apachekafka

import (
	"context"
	_ "embed"

	"github.com/livegraph/livegraph/internal/embedded/engine"
	"github.com/livegraph/livegraph/test/engines/jars"
)

// pom is the Maven project with the jars of Apache Kafka.
//
//go:embed assets/pom.xml
var pom string

// sums pins every jar by hash, in the format of sha256sum.
//
//go:embed assets/jars.sha256
var sums string

// Install returns the jars of an Apache Kafka broker, and installs them if they are missing. The
// error describes what this machine lacks. progress may be nil.
func Install(ctx context.Context, progress func(engine.Event)) (*jars.Installation, error) {
	set := jars.Set{Name: name, Title: "Apache Kafka", POM: pom, Sums: sums, Size: "45 MB"}
	return set.Install(ctx, progress)
}
