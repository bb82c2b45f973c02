package portrait

import (
	"github.com/livegraph/livegraph/internal/app/demo/mirror"
	"github.com/livegraph/livegraph/internal/app/demo/weather"
)

// WeatherOwner is the name under which the weather's part of a graph is found
// again, whichever machine drew it.
const WeatherOwner = "livegraph-demo weather"

const datasetKey = "dataset/weather"

// StationKey returns the node that a station's source belongs to.
func StationKey(station *weather.Station) string { return "station/" + station.Slug }

// Weather returns the picture of the weather stations.
func Weather(stations []weather.Station) mirror.Picture {
	d := &drawing{keys: map[string]bool{}, picture: mirror.Picture{Whole: map[string]bool{
		kindStation: true, kindDataset: true,
	}}}
	d.add(mirror.Node{
		Key: datasetKey, Kind: kindDataset, Name: "Daily weather, 2012 to 2015", EntityType: concept,
		Description: "Four years of daily weather measurements by NOAA (GHCN-Daily, public domain): precipitation, " +
			"highest and lowest temperature, wind, and the day in a word.",
		Properties: map[string]any{"source": weather.Package, "licence": "public domain"},
	})
	for i := range stations {
		s := &stations[i]
		d.add(mirror.Node{
			Key: StationKey(s), Kind: kindStation, Name: "Weather in " + s.Place, EntityType: object,
			Description: "Weather measured in " + s.Place + ", day by day: rain and snow, temperature, wind.",
			Properties:  map[string]any{"place": s.Place, "days": len(s.Days)},
		})
		d.relate(StationKey(s), partOf, datasetKey)
	}
	return d.picture
}
