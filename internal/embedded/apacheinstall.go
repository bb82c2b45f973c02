package embedded

import (
	"context"
	_ "embed"
)

// apachePOM is the Maven project with the jars of Apache Kafka.
//
//go:embed assets/kafka/pom.xml
var apachePOM string

// apacheSums pins every jar by hash, in the format of sha256sum.
//
//go:embed assets/kafka/jars.sha256
var apacheSums string

// apacheJars returns the jars of an Apache Kafka broker.
func apacheJars() JarSet {
	return JarSet{Name: apacheName, Title: "Apache Kafka", POM: apachePOM, Sums: apacheSums, Size: "45 MB"}
}

// InstallApacheKafka installs the jars of Apache Kafka; see [InstallJars].
func InstallApacheKafka(ctx context.Context, progress func(Event)) (*Jars, error) {
	return InstallJars(ctx, apacheJars(), progress)
}
