// Package vector identifies the models of vectors, for packages that store vectors and do
// not compute any.
package vector

import "fmt"

// Model identifies the model that computes vectors.
type Model struct {
	Name       string `json:"name"`
	Dimensions int    `json:"dimensions"`
}

// String returns the model for logs.
func (m Model) String() string { return fmt.Sprintf("%s (%d dimensions)", m.Name, m.Dimensions) }
