// Package vector identifies the models of vectors, for packages that store vectors and do
// not compute any.
package vector

import "fmt"

// Model identifies the model that computes vectors.
type Model struct {
	Name       string `json:"name"`
	Dimensions int    `json:"dimensions"`
}

// baselines are the mean cosines of texts that have nothing in common, of models of which that is far from 0.
var baselines = map[string]float64{"multilingual-e5-small": 0.8}

// Similarity scales a cosine of two vectors of the model, so that scores and minimums mean the same for each model: 1
// for the same text, and about 0 for texts that have nothing in common. It does not change the order.
func (m Model) Similarity(cosine float64) float64 {
	low := baselines[m.Name]
	return (cosine - low) / (1 - low)
}

// String returns the model for logs.
func (m Model) String() string { return fmt.Sprintf("%s (%d dimensions)", m.Name, m.Dimensions) }
