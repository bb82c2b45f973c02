package retrieval

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/retrieval/chunk"
	"github.com/livegraph/livegraph/internal/retrieval/embed"
)

// statements are sentences that a model could write from a passage: what the passage states, in its words and in
// others, and what it does not state.
var statements = []struct {
	title, text string
	faithful    []string
	numbers     []string // with a number that the passage does not have
	invented    []string
}{
	{
		"Pump 7",
		"The bearing at the end of the long shaft is lubricated once every 500 hours. It was built in 1987. The pump moves " +
			"water to the northern hall at 1,450 rpm.",
		[]string{
			"The bearing of Pump 7 has to be lubricated every 500 hours.", "Pump 7 was built in 1987.",
			"It supplies the northern hall with water.", "The pump runs at 1450 rpm.",
			"Pump 7 dates from 1987 and moves water to the northern hall.",
		},
		[]string{"The bearing is lubricated every 50 hours.", "Pump 7 was built in 1978.", "The pump runs at 1.45 rpm."},
		[]string{
			"The gearbox oil is replaced by an external company twice a year.",
			"Its manufacturer went bankrupt after a lawsuit.", "Contact the service desk to reset your password.",
		},
	},
	{
		"Late delivery",
		"If the goods arrive later than agreed, the buyer may reduce the price by 2 % for each full week, up to 10 % in " +
			"total. The buyer has to notify the seller in writing within 14 days after the delivery.",
		[]string{
			"For each full week of delay the buyer may reduce the price by 2 %.", "The reduction is limited to 10 % in total.",
			"The buyer must notify the seller in writing within 14 days of the delivery.",
			"If goods arrive late, the buyer can reduce the price.",
		},
		[]string{"The buyer may reduce the price by 5 % for each week.", "The notice is due within 30 days after delivery."},
		[]string{
			"Disputes are settled by a court of arbitration in Geneva.", "The seller pays for the insurance of the ship.",
			"Employees receive a bonus at the end of the quarter.",
		},
	},
	{
		"Incident 42",
		"At 03:12 the database ran out of disk space because old log segments were not removed. Writes failed for 25 " +
			"minutes. Ana Reyes enlarged the volume and started the cleaner again. No data was lost.",
		[]string{
			"The database ran out of disk space because old log segments were not removed.",
			"Writes failed for 25 minutes, and no data was lost.", "Ana Reyes fixed it: she enlarged the volume.",
			"The cause was a lack of disk space, as log segments were not removed.",
		},
		[]string{"Writes failed for 52 minutes.", "At 04:12 the database ran out of disk space."},
		[]string{
			"A firewall rule blocked the connections of the replica.", "The customer was compensated with a voucher.",
			"Kubernetes evicted the pods because of memory pressure.",
		},
	},
	{
		"Orchard",
		"The old apple trees on the slope are pruned in February. Their fruit is pressed into cider. The bees of the " +
			"neighbour pollinate the blossoms in spring.",
		[]string{
			"The apple trees are pruned in February.", "The fruit of the old trees is pressed into cider.",
			"In spring the blossoms are pollinated by the neighbour's bees.", "Cider is made from the fruit.",
		},
		[]string{"The 12 apple trees are pruned in February."},
		[]string{
			"Pesticides are sprayed by a helicopter.", "The harvest is sold to a supermarket in the city.",
			"Grapes are trampled by hand in the cellar.",
		},
	},
}

// measureSupport returns the shares of statements that are supported, in percent.
func measureSupport(t *testing.T, e *Engine, w Weights) (faithful, numbers, invented float64) {
	t.Helper()
	var counts [3][2]float64
	for _, s := range statements {
		p := Passage{Title: s.title, Text: s.text}
		if w.Vector > 0 {
			texts := []string{}
			for _, sentence := range chunk.Sentences(s.text) {
				texts = append(texts, s.title+": "+sentence.Text)
			}
			var err error
			p.vectors, err = embed.NewStatic().Embed(t.Context(), texts)
			require.NoError(t, err)
		}
		for kind, list := range [][]string{s.faithful, s.numbers, s.invented} {
			for _, text := range list {
				checked, degraded, err := e.checkSupport(
					t.Context(), []citedSentence{{text: text, citations: []int{0}}}, []Passage{p}, w,
				)
				require.NoError(t, err)
				require.False(t, degraded)
				t.Logf("%d %.2f %v %s", kind, checked[0].Support, checked[0].Supported, text)
				counts[kind][1]++
				if checked[0].Supported {
					counts[kind][0]++
				}
			}
		}
	}
	share := func(kind int) float64 { return 100 * counts[kind][0] / counts[kind][1] }
	return share(0), share(1), share(2)
}

func TestSentencesAreSupportedByWhatThePassagesState(t *testing.T) {
	e := newFakeLanes().engine(newMemory())
	for _, vector := range []float64{0, 1} {
		w := Weights{Text: 1, Vector: vector}
		faithful, numbers, invented := measureSupport(t, e, w)
		t.Logf("vector %v: faithful %.0f %%, other numbers %.0f %%, invented %.0f %%", vector, faithful, numbers, invented)
		require.GreaterOrEqual(t, faithful, 90.0)
		require.Zero(t, numbers)
		require.Zero(t, invented)
	}
}
