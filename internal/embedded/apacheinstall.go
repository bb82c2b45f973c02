package embedded

import (
	"context"
	_ "embed"
)

// apachePOM names the jars of Apache Kafka to Maven.
//
//go:embed assets/kafka/pom.xml
var apachePOM string

// apacheSums pins every jar by hash, in the format of sha256sum.
//
//go:embed assets/kafka/jars.sha256
var apacheSums string

// apacheJars are what the broker of Apache Kafka is made of.
func apacheJars() JarSet {
	return JarSet{Name: apacheName, Title: "Apache Kafka", POM: apachePOM, Sums: apacheSums, Size: "45 MB"}
}

// InstallApacheKafka makes the jars of Apache Kafka ready, see [InstallJars].
func InstallApacheKafka(ctx context.Context, progress func(Event)) (*Jars, error) {
	return InstallJars(ctx, apacheJars(), progress)
}
