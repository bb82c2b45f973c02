package apachekafka

import (
	"maps"
	"os/exec"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/test/engines/jars"
)

// Remote is a broker of a quorum at an address that the caller chooses. The caller runs its process,
// on another host.
type Remote struct {
	Jars    *jars.Installation
	Dir     string
	Cluster uuid.UUID
	ID      int    // from 1
	Address string // host:port, for clients and the other brokers
	// Controllers are the addresses of the controllers of all brokers, in the order of their ids.
	Controllers []string
	Properties  map[string]string // override those of a quorum
}

// Prepare writes the settings of the broker and formats its directory if necessary.
func (r *Remote) Prepare() error {
	o := r.options()
	return prepare(r.Dir, (&Broker{}).settings(r.Dir, r.Address, o), o)
}

// Command returns the command of the broker.
func (r *Remote) Command() *exec.Cmd { return command(r.Dir, r.options()) }

func (r *Remote) options() Options {
	properties := quorumSettings(len(r.Controllers))
	maps.Copy(properties, r.Properties)
	return Options{
		Jars: r.Jars, Properties: properties, ClusterID: r.Cluster,
		member: &member{node: r.ID, controllers: r.Controllers},
	}
}
