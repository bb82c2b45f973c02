package process

import (
	"context"
	"net"

	"github.com/livegraph/livegraph/consumers/points"
	"github.com/livegraph/livegraph/consumers/webhooks"
	"github.com/livegraph/livegraph/internal/app/stores"
	"github.com/livegraph/livegraph/internal/platform/outbound"
	"github.com/livegraph/livegraph/internal/services/promstore"
)

// builder builds the components of a process's roles. A component is a field only if
// other components need it while they are built.
type builder struct {
	Options
	stores.Stores
	components []Component
	serve      func(context.Context, net.Listener) error // set by the part that serves HTTP
	closers    []func()                                  // called in this order when all components have ended
	points     *points.Consumer                          // replays pause while it has work
	intake     *intake                                   // see builder.pointIntake
	promStore  *promstore.Store                          // see builder.promStorage
	guard      *outbound.Guard                           // see builder.outbound
	hookQueue  *webhooks.Queue                           // see builder.webhookQueue
}

// part is a part of a process that is added if it is needed.
type part struct {
	name   string
	needed bool
	add    func() error // adds its components
}

// parts returns all parts in the order in which they are built. Add a new component here,
// with the roles that need it.
func (b *builder) parts() []part {
	has := b.Config.Has
	consumes := has("points") || has("commands") || has("embeddings") || has("audit")
	return []part{
		{"api", has("api"), b.addAPI},
		{"probes", !has("api"), b.addProbeServer},
		{"points", has("points"), b.addPoints},
		{"maintenance", has("points"), b.addMaintenance},
		{"replays", has("points"), b.addReplays},
		{"rollups", has("points") && b.Config.Rollups.Enabled, b.addRollups},
		{"commands", has("commands"), b.addCommands},
		{"lexical", has("embeddings"), b.addLexical},
		{"embeddings", has("embeddings"), b.addEmbeddings},
		{"links", has("embeddings"), b.addLinks},
		{"audit", has("audit"), b.addAudit},
		{"rules", has("rules"), b.addRules},
		{"webhooks", has("rules"), b.addWebhooks},
		{"analyses", has("rules"), b.addAnalyses},
		{"dead letters", consumes, b.addDeadLetterWatch},
		{"engine probes", true, b.addEngineProbes},
		{"garbage collection", true, b.addGCTuner},
		{"index embedder", len(b.indexModels()) > 0, b.addIndexEmbedder},
	}
}

// build adds the components of the parts that are needed.
func (b *builder) build() error {
	for _, p := range b.parts() {
		if !p.needed {
			continue
		}
		if err := p.add(); err != nil {
			return err
		}
	}
	return nil
}

// add adds a component.
func (b *builder) add(name string, run func(context.Context) error) {
	b.components = append(b.components, Component{Name: name, Run: run})
}

func (b *builder) addGCTuner() error {
	b.add("garbage collection", tuneGC)
	return nil
}
