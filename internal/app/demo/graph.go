package demo

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/app/client"
	"github.com/livegraph/livegraph/internal/app/demo/machine"
	"github.com/livegraph/livegraph/internal/app/demo/mirror"
	"github.com/livegraph/livegraph/internal/app/demo/portrait"
	"github.com/livegraph/livegraph/internal/app/demo/weather"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/sleep"
)

const (
	// surveyEvery is the time between two looks at what runs on the machine, and
	// settled the age from which a process is drawn.
	surveyEvery = 5 * time.Second
	settled     = 10 * time.Second
	// graphPatience bounds how long a change of the graph is tried for, and
	// graphAgain is the wait after it was given up.
	graphPatience = 15 * time.Second
	graphAgain    = 10 * time.Second
	// surveyPatience is how long an inventory may take; one that hangs in the
	// kernel (a dead network file system) is left behind.
	surveyPatience = 10 * time.Second
	// linkAgain is how long a source's link is believed.
	linkAgain = time.Minute
)

// cartographer keeps the machine's part of the graph true: it looks at the machine
// every few seconds, changes what has changed, and says which node a source
// belongs to.
type cartographer struct {
	client   *client.Client
	keys     *keyring
	stats    *stats
	note     func(string)
	surveyor *machine.Surveyor
	every    time.Duration
	sources  []machine.Source
	stations []weather.Station // whose history is there; none: not drawn

	machine, weather *mirror.Mirror
	began            time.Time
	linked           map[string]link // by the source's name
	said             string          // the last trouble that was said
	drawn            func(host uuid.UUID)
	belongs          func(source string, node uuid.UUID)
}

// link is the node that a source was linked to, and until when that is believed.
type link struct {
	node  uuid.UUID
	until time.Time
}

func newCartographer(s *session, host string, sources []machine.Source) *cartographer {
	// What the graph waits for is not what the points wait for: it is said here.
	c := s.client.With(client.Retry{Total: graphPatience})
	return &cartographer{
		client: c, keys: s.keys, stats: s.stats, note: s.say,
		surveyor: machine.NewSurveyor(host, cmp.Or(s.options.settled, settled)), sources: sources,
		stations: s.stations, machine: mirror.New(c, portrait.Owner(host)), weather: mirror.New(c, portrait.WeatherOwner),
		every: cmp.Or(s.options.surveyEvery, surveyEvery), began: time.Now(), linked: map[string]link{}, drawn: s.drawn,
		belongs: s.belongs,
	}
}

// run works until ctx ends. The live data goes on without it: whatever goes wrong
// here is said and tried again.
func (c *cartographer) run(ctx context.Context) {
	for {
		began := time.Now()
		inventory, ok := c.survey(ctx)
		if !ok {
			return
		}
		wait := c.every - time.Since(began)
		key, _, _ := c.keys.current(began)
		err := c.draw(ctx, &inventory)
		switch {
		case ended(ctx):
			return
		case err == nil:
			c.said = ""
		case fault.Is(err, fault.Forbidden):
			c.trouble(err)
			return
		case fault.Is(err, fault.Unauthenticated):
			if c.keys.renew(ctx, key) != nil {
				wait = mintAgain
			}
		default:
			c.trouble(err)
			wait = graphAgain
		}
		if !sleep.For(ctx, max(wait, c.every/5)) {
			return
		}
	}
}

// survey makes an inventory; it is false when ctx ended first.
func (c *cartographer) survey(ctx context.Context) (machine.Inventory, bool) {
	made := make(chan machine.Inventory, 1)
	bounded, cancel := context.WithTimeout(ctx, surveyPatience)
	defer cancel()
	go func() { made <- c.surveyor.Survey(bounded) }()
	late := time.NewTimer(2 * surveyPatience)
	defer late.Stop()
	for {
		select {
		case inventory := <-made:
			return inventory, true
		case <-late.C:
			c.note("graph: the machine does not answer what it is made of; a file system may be away")
		case <-ctx.Done():
			return machine.Inventory{}, false
		}
	}
}

// draw brings the graph up to date, the weather once, the links last.
func (c *cartographer) draw(ctx context.Context, inventory *machine.Inventory) error {
	report, err := c.machine.Sync(ctx, portrait.Machine(inventory, c.machine.Known().Keys(portrait.KindProgram)))
	c.stats.drew(report)
	if err != nil {
		return err
	}
	if host, ok := c.machine.Known().ID(portrait.MachineKey); ok && report.Left == 0 {
		c.drawn(host)
	}
	if len(c.stations) > 0 {
		if _, err := c.weather.Sync(ctx, portrait.Weather(c.stations)); err != nil {
			return err
		}
	}
	return c.link(ctx)
}

// link says of each source which node it belongs to. A source that is not there yet
// will be made with it; one that was linked is looked at again after a minute.
func (c *cartographer) link(ctx context.Context) error {
	for _, s := range c.sources {
		if err := c.linkSource(ctx, s.Name, c.machine.Known(), portrait.KeyOfSource(s.Kind)); err != nil {
			return err
		}
	}
	for i := range c.stations {
		if err := c.linkSource(
			ctx, stationSource(&c.stations[i]).Name, c.weather.Known(), portrait.StationKey(&c.stations[i]),
		); err != nil {
			return err
		}
	}
	return nil
}

func (c *cartographer) linkSource(ctx context.Context, name string, known *mirror.Known, key string) error {
	node, ok := known.ID(key)
	if last := c.linked[name]; !ok || (last.node == node && time.Now().Before(last.until)) {
		return nil
	}
	c.belongs(name, node)
	source, err := c.client.SourceByName(ctx, name)
	if err == nil && source.NodeID != node.String() {
		err = c.client.LinkSource(ctx, source.ID, node.String())
	}
	switch {
	case fault.Is(err, fault.NotFound):
		c.linked[name] = link{node, time.Now().Add(time.Since(c.began) / 2)} // made soon, or never
		return nil
	case err != nil:
		return fmt.Errorf("linking source %s to its node: %w", name, err)
	}
	c.linked[name] = link{node, time.Now().Add(linkAgain)}
	return nil
}

// trouble reports what is wrong, once until something else is.
func (c *cartographer) trouble(err error) {
	if text := publicText(err); text != c.said {
		c.said = text
		c.note("graph: " + err.Error())
	}
}
